#include "cc/serving/remote_options.h"

#include <cctype>
#include <cstdlib>
#include <utility>

#include "cc/base/number.h"
#include "cc/base/text.h"
#include "cc/serving/credential_files.h"

namespace persia {
namespace {

// The clock counts nanoseconds in 64 bits: much larger values would overflow.
constexpr double kMostSeconds = 1e6;
constexpr uint64_t kMostHotRows = uint64_t{1} << 32;

std::string Variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::string() : std::string(value);
}

// The environment variable for the addresses of a cluster: "PERSIA_PS_1" for
// cluster "ps_1".
std::string AddressesVariable(const std::string& cluster) {
  std::string name = "PERSIA_" + cluster;
  for (char& c : name) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool IsName(const std::string& text) {
  for (const char c : text) {
    if (c != '_' && !std::isalnum(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty();
}

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return std::string();
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> AddressesOf(const RemoteOptions& options) {
  const std::string set = Trimmed(Variable(AddressesVariable(options.cluster)));
  if (set.empty()) return options.addresses;
  std::vector<std::string> addresses = SplitAtCommas(set);
  for (std::string& address : addresses) address = Trimmed(address);
  return addresses;
}

}  // namespace

Status CheckRemoteOptions(const RemoteOptions& options) {
  if (!IsName(options.cluster)) {
    return InvalidArgument("cluster must be letters, digits and _, received \"",
                           options.cluster, "\"");
  }
  if (!(options.timeout_seconds > 0 &&
        options.timeout_seconds <= kMostSeconds)) {
    return InvalidArgument("timeout_seconds must be above 0 and at most ",
                           NumberText(kMostSeconds), ", received ",
                           NumberText(options.timeout_seconds));
  }
  if (!(options.hot_seconds >= 0 && options.hot_seconds <= kMostSeconds)) {
    return InvalidArgument("hot_seconds must be from 0 to ",
                           NumberText(kMostSeconds), ", received ",
                           NumberText(options.hot_seconds));
  }
  if (options.hot_rows <= kMostHotRows) return Status();
  return InvalidArgument("hot_rows must be from 0 to ", kMostHotRows,
                         ", received ", options.hot_rows);
}

std::string KeyOf(const RemoteOptions& options) {
  std::string key = Concat(
      options.cluster, " timeout=", NumberText(options.timeout_seconds),
      " zeros=", options.zeros_for_outages, " hot_rows=", options.hot_rows,
      " hot_seconds=", NumberText(options.hot_seconds),
      " dtype=", static_cast<uint32_t>(options.wire_dtype));
  for (const std::string& address : options.addresses) key += "," + address;
  return key;
}

Result<RemoteAccess> AccessOf(const RemoteOptions& options) {
  RemoteAccess access;
  access.addresses = AddressesOf(options);
  auto token = ReadTokenFile(Variable("PERSIA_AUTH_TOKEN_FILE"));
  if (!token.ok()) return token.status();
  access.auth_token = std::move(*token);
  auto tls =
      ReadTlsFiles(Variable("PERSIA_TLS_CERTIFICATE"),
                   Variable("PERSIA_TLS_KEY"), Variable("PERSIA_TLS_CA"));
  if (!tls.ok()) return tls.status();
  access.tls = std::move(*tls);
  return access;
}

}  // namespace persia
