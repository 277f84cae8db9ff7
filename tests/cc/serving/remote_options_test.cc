#include "cc/serving/remote_options.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cc/serving/credential_files.h"
#include "tests/cc/files/temporary_folder.h"

namespace persia {
namespace {

using Addresses = std::vector<std::string>;

// Removes the variables of the surrounding environment from the test.
class RemoteOptionsTest : public ::testing::Test {
 protected:
  RemoteOptionsTest() {
    for (const char* name :
         {"PERSIA_PS", "PERSIA_PS_1", "PERSIA_AUTH_TOKEN_FILE",
          "PERSIA_TLS_CERTIFICATE", "PERSIA_TLS_KEY", "PERSIA_TLS_CA"}) {
      ::unsetenv(name);
    }
    options_.cluster = "ps";
    options_.addresses = {"a:1", "b:2"};
    options_.timeout_seconds = 1;
  }
  ~RemoteOptionsTest() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }

  void Set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.insert(name);
  }

  std::string Write(const std::string& name, const std::string& text,
                    mode_t mode = 0600) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  Addresses AddressesNow() {
    auto access = AccessOf(options_);
    EXPECT_TRUE(access.ok()) << access.status().message();
    return access.ok() ? access->addresses : Addresses();
  }

  std::string ErrorNow() { return AccessOf(options_).status().message(); }

  TemporaryFolder folder_;
  RemoteOptions options_;
  std::set<std::string> set_;
};

TEST_F(RemoteOptionsTest, TheExportsOwnAddressesAreTheDefault) {
  EXPECT_EQ(AddressesNow(), (Addresses{"a:1", "b:2"}));
  Set("PERSIA_PS", " ");
  EXPECT_EQ(AddressesNow(), (Addresses{"a:1", "b:2"}));
}

TEST_F(RemoteOptionsTest, TheEnvironmentNamesOthers) {
  Set("PERSIA_PS", "c:3, d:4");
  EXPECT_EQ(AddressesNow(), (Addresses{"c:3", "d:4"}));
  options_.cluster = "ps_1";
  EXPECT_EQ(AddressesNow(), (Addresses{"a:1", "b:2"}));
  Set("PERSIA_PS_1", "e:5");
  EXPECT_EQ(AddressesNow(), Addresses{"e:5"});
}

TEST_F(RemoteOptionsTest, ATokenIsItsOwnersAlone) {
  const std::string token(32, 'x');
  Set("PERSIA_AUTH_TOKEN_FILE", Write("token", token + "\r\n"));
  EXPECT_EQ(AccessOf(options_)->auth_token, token);
  const std::string open = Write("open", token, 0644);
  Set("PERSIA_AUTH_TOKEN_FILE", open);
  EXPECT_EQ(ErrorNow(),
            Concat("the token file ", open,
                   " must be accessible only to its owner, or be root's and "
                   "readable by its group, but it belongs to user ",
                   ::geteuid(), " and its mode is 644: run `chmod 600 ", open,
                   "`, or for a Secret of Kubernetes set `defaultMode: 0440`"));
  Set("PERSIA_AUTH_TOKEN_FILE", folder_ / "none");
  EXPECT_EQ(ErrorNow(), Concat("the token file ", folder_ / "none",
                               " cannot be read: No such file or directory"));
}

TEST_F(RemoteOptionsTest, TheGroupOfRootsFilesMayReadThem) {
  const std::string token(32, 'x');
  const std::string path = Write("token", token, 0440);
  Set("PERSIA_AUTH_TOKEN_FILE", path);
  if (::geteuid() == 0) {
    EXPECT_EQ(AccessOf(options_)->auth_token, token);
    ASSERT_EQ(::chmod(path.c_str(), 0460), 0);
    EXPECT_NE(ErrorNow().find("its mode is 460"), std::string::npos);
    ASSERT_EQ(::chmod(path.c_str(), 0440), 0);
    // Root of a user namespace may have no other user to give the file to.
    if (::chown(path.c_str(), 1, 1) != 0) return;
  }
  EXPECT_NE(ErrorNow().find("its mode is 440"), std::string::npos);
}

TEST_F(RemoteOptionsTest, WhatIsNoTokenIsRefusedWithoutShowingIt) {
  for (const std::string& secret :
       {std::string("short"), std::string(5000, 's'),
        std::string(20, 's') + "\n" + std::string(20, 's')}) {
    Set("PERSIA_AUTH_TOKEN_FILE", Write("token", secret));
    EXPECT_NE(ErrorNow().find("openssl rand -hex 32"), std::string::npos);
    EXPECT_EQ(ErrorNow().find("sss"), std::string::npos);
  }
}

TEST_F(RemoteOptionsTest, TlsIsAllOrNothing) {
  EXPECT_TRUE(AccessOf(options_)->tls.empty());
  Set("PERSIA_TLS_CERTIFICATE", Write("certificate", "C", 0644));
  EXPECT_NE(ErrorNow().find("TLS is mutual"), std::string::npos);
  Set("PERSIA_TLS_KEY", Write("key", "K"));
  Set("PERSIA_TLS_CA", Write("ca", "A", 0644));
  const TlsCredentials tls = AccessOf(options_)->tls;
  EXPECT_EQ(tls.certificate, "C");
  EXPECT_EQ(tls.key, "K");
  EXPECT_EQ(tls.ca, "A");
  Set("PERSIA_TLS_KEY", Write("key", "K", 0604));
  EXPECT_NE(ErrorNow().find("the TLS key"), std::string::npos);
}

TEST_F(RemoteOptionsTest, OtherOptionsHaveAnotherKey) {
  const std::string key = KeyOf(options_);
  std::set<std::string> keys{key};
  RemoteOptions other = options_;
  other.cluster = "ps_1";
  keys.insert(KeyOf(other));
  other = options_;
  other.addresses.pop_back();
  keys.insert(KeyOf(other));
  other = options_;
  other.timeout_seconds = 2;
  keys.insert(KeyOf(other));
  other = options_;
  other.zeros_for_outages = true;
  keys.insert(KeyOf(other));
  other = options_;
  other.hot_rows = 1;
  keys.insert(KeyOf(other));
  other = options_;
  other.hot_seconds = 1;
  keys.insert(KeyOf(other));
  other = options_;
  other.wire_dtype = WireDtype::kFloat16;
  keys.insert(KeyOf(other));
  EXPECT_EQ(keys.size(), 8u);
  EXPECT_EQ(KeyOf(options_), key);
}

}  // namespace
}  // namespace persia
