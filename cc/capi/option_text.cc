#include "cc/capi/option_text.h"

namespace persia {
namespace {

template <typename Value>
struct Choice {
  const char* text;
  Value value;
};

// Compares `text` with the texts of two choices and sets *value to the value of
// the equal one. Fails if neither is equal.
template <typename Value>
Status ReadChoice(const std::string& name, const std::string& text,
                  const Choice<Value>& first, const Choice<Value>& second,
                  Value* value) {
  for (const Choice<Value>& choice : {first, second}) {
    if (text != choice.text) continue;
    *value = choice.value;
    return Status();
  }
  return InvalidArgument(name, " must be ", first.text, " or ", second.text,
                         ", received \"", text, "\"");
}

}  // namespace

Status ReadOption(const std::string&, const std::string& text,
                  std::string* value) {
  *value = text;
  return Status();
}

Status ReadOption(const std::string& name, const std::string& text,
                  bool* value) {
  return ReadChoice<bool>(name, text, {"0", false}, {"1", true}, value);
}

Status ReadOption(const std::string& name, const std::string& text,
                  double* value) {
  const char* end = text.data() + text.size();
  // Unlike strtod, from_chars gives the same result in every locale.
  const std::from_chars_result read = std::from_chars(text.data(), end, *value);
  if (read.ec == std::errc() && read.ptr == end) return Status();
  return InvalidArgument(name, " must be a number, received ", text);
}

Status ReadOption(const std::string& name, const std::string& text,
                  RecoveryLevel* value) {
  return ReadChoice<RecoveryLevel>(name, text, {"log", RecoveryLevel::kLog},
                                   {"checkpoint", RecoveryLevel::kCheckpoint},
                                   value);
}

Status ReadOption(const std::string& name, const std::string& text,
                  SyncMode* value) {
  return ReadChoice<SyncMode>(name, text, {"device", SyncMode::kDevice},
                              {"system", SyncMode::kSystem}, value);
}

Status ReadOption(const std::string& name, const std::string& text,
                  Acknowledge* value) {
  return ReadChoice<Acknowledge>(name, text, {"self", Acknowledge::kSelf},
                                 {"standby", Acknowledge::kStandby}, value);
}

}  // namespace persia
