// Address: the host and port of a server.

#ifndef PERSIA_CC_WIRE_ADDRESS_H_
#define PERSIA_CC_WIRE_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cc/base/status.h"

namespace persia {

struct Address {
  std::string host;  // A name, or an IP address without brackets.
  uint16_t port = 0;

  // Parses "host:port" or "[v6]:port"; the port must be in 1 to 65535.
  // InvalidArgument for any other text.
  static Result<Address> Parse(std::string_view text);

  std::string ToString() const;
};

// "host:port", or "[host]:port" for an IPv6 address.
std::string HostAndPort(const std::string& host, const std::string& port);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_ADDRESS_H_
