#include "cc/base/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cc/base/number.h"

namespace persia {
namespace {

// The length of a spec is limited because specs also come from the network, and
// error messages quote the whole text.
constexpr size_t kMaxTextBytes = 1000;

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_';
  });
}

// Parses a number in the C locale. strtod is unsuitable, because in some
// locales it accepts "0,1" as a number.
bool ReadNumber(std::string_view text, double* value) {
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, *value);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(*value);
}

template <typename... Args>
Status BadSpec(std::string_view text, const Args&... args) {
  return InvalidArgument("\"", text,
                         "\" is not name(param=number,...): ", args...);
}

Status ReadParam(std::string_view text, std::string_view param, Spec* spec) {
  const size_t equals = param.find('=');
  if (equals == std::string_view::npos) {
    return BadSpec(text, "every parameter needs a \"=\"");
  }
  const std::string_view name = param.substr(0, equals);
  if (!IsName(name)) {
    return BadSpec(text, "a parameter's name takes a-z, 0-9 and _");
  }
  double value = 0;
  if (!ReadNumber(param.substr(equals + 1), &value)) {
    return BadSpec(text, name, " must be a finite decimal number");
  }
  if (!spec->params.emplace(name, value).second) {
    return BadSpec(text, name, " is given twice");
  }
  return Status();
}

}  // namespace

Result<Spec> Spec::Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return BadSpec(text.substr(0, 100), "it must have at most ", kMaxTextBytes,
                   " bytes, received ", text.size());
  }
  const size_t open = text.find('(');
  Spec spec;
  spec.name = text.substr(0, open);
  if (!IsName(spec.name)) return BadSpec(text, "the name takes a-z, 0-9 and _");
  if (open == std::string_view::npos) return spec;
  if (text.back() != ')') return BadSpec(text, "it must end in \")\"");

  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    PERSIA_RETURN_IF_ERROR(ReadParam(text, rest.substr(0, comma), &spec));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return BadSpec(text, "a parameter must follow \",\"");
  }
  return spec;
}

std::string Spec::ToString() const {
  if (params.empty()) return name;
  std::string text = name;
  char separator = '(';
  for (const auto& [param, value] : params) {
    text += separator;
    text += param + "=" + NumberText(value);
    separator = ',';
  }
  return text + ")";
}

Status Spec::CheckParams(std::string_view what,
                         std::initializer_list<std::string_view> known) const {
  for (const auto& [param, value] : params) {
    if (std::find(known.begin(), known.end(), param) != known.end()) continue;
    std::string names;
    for (const std::string_view one : known) {
      names += names.empty() ? "" : ", ";
      names += one;
    }
    return InvalidArgument(what, " ", name, " has no parameter ", param,
                           "; it has ", names.empty() ? "none" : names);
  }
  return Status();
}

double Spec::Get(const std::string& param, double default_value) const {
  const auto found = params.find(param);
  return found == params.end() ? default_value : found->second;
}

}  // namespace persia
