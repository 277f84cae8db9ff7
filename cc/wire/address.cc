#include "cc/wire/address.h"

#include <charconv>

namespace persia {
namespace {

bool ParsePort(std::string_view text, uint16_t* port) {
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, *port);
  return error == std::errc() && last == end && *port != 0;
}

bool IsBracketed(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']';
}

}  // namespace

Result<Address> Address::Parse(std::string_view text) {
  Address address;
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos &&
      ParsePort(text.substr(colon + 1), &address.port)) {
    const std::string_view host = text.substr(0, colon);
    if (IsBracketed(host)) {
      address.host = host.substr(1, host.size() - 2);
      return address;
    }
    // A host with colons is refused: it is an IPv6 address without brackets,
    // and its last group would be mistaken for the port.
    if (!host.empty() && host.find_first_of(":[] ") == host.npos) {
      address.host = host;
      return address;
    }
  }
  return InvalidArgument(
      "an address must be \"host:port\" or \"[IPv6]:port\" "
      "with a port in [1, 65535], received \"",
      text, "\"");
}

std::string Address::ToString() const {
  return HostAndPort(host, std::to_string(port));
}

std::string HostAndPort(const std::string& host, const std::string& port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? Concat("[", host, "]:", port) : Concat(host, ":", port);
}

}  // namespace persia
