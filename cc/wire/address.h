// Address: where a server is.

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

  // "host:port" or "[v6]:port", with a port that can be connected to.
  // InvalidArgument otherwise.
  static Result<Address> Parse(std::string_view text);

  std::string ToString() const;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_ADDRESS_H_
