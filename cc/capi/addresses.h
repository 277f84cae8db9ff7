// Lists of addresses, as the C interface accepts them.

#ifndef PERSIA_CC_CAPI_ADDRESSES_H_
#define PERSIA_CC_CAPI_ADDRESSES_H_

#include <sstream>
#include <string>
#include <vector>

namespace persia {

// "a:1,b:2" -> {"a:1", "b:2"}; "" -> {}.
inline std::vector<std::string> SplitAddresses(const std::string& list) {
  std::vector<std::string> addresses;
  std::istringstream stream(list);
  for (std::string address; std::getline(stream, address, ',');) {
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_ADDRESSES_H_
