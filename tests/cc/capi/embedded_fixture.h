// A session with a shard in this process.

#ifndef PERSIA_TESTS_CC_CAPI_EMBEDDED_FIXTURE_H_
#define PERSIA_TESTS_CC_CAPI_EMBEDDED_FIXTURE_H_

#include <gtest/gtest.h>

#include "cc/capi/persia.h"
#include "tests/cc/capi/capi_calls.h"

namespace persia {

class EmbeddedFixture : public testing::Test {
 protected:
  EmbeddedFixture() { ExpectOk(Open(kName, "", kTimeout, 4)); }
  ~EmbeddedFixture() override { ExpectOk(persia_session_close(kName)); }

  static constexpr char kName[] = "embedded";
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CAPI_EMBEDDED_FIXTURE_H_
