#include "cc/wire/address.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

TEST(AddressTest, ParsesNamesAndAddresses) {
  struct {
    const char* text;
    const char* host;
    uint16_t port;
  } const kCases[] = {{"localhost:7000", "localhost", 7000},
                      {"ps-0.ps.svc:1", "ps-0.ps.svc", 1},
                      {"127.0.0.1:65535", "127.0.0.1", 65535},
                      {"[::1]:7000", "::1", 7000}};
  for (const auto& expected : kCases) {
    const Result<Address> address = Address::Parse(expected.text);
    ASSERT_TRUE(address.ok()) << expected.text;
    EXPECT_EQ(address->host, expected.host);
    EXPECT_EQ(address->port, expected.port);
    EXPECT_EQ(address->ToString(), expected.text);
  }
}

TEST(AddressTest, RefusesWhatIsNoAddressAndShowsIt) {
  for (const char* text :
       {"", "localhost", ":7000", "localhost:", "localhost:0",
        "localhost:65536", "localhost:-1", "localhost:7000x", "localhost: 1",
        "::1:7000", "[]:7000", "[::1]", "[::1:7000", "http://h:1", "a b:1"}) {
    const Result<Address> address = Address::Parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), Code::kInvalidArgument);
    EXPECT_NE(address.status().message().find(Concat("\"", text, "\"")),
              std::string::npos);
  }
}

}  // namespace
}  // namespace persia
