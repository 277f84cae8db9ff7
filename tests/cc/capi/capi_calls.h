// Calls of the C interface, with few arguments.

#ifndef PERSIA_TESTS_CC_CAPI_CAPI_CALLS_H_
#define PERSIA_TESTS_CC_CAPI_CAPI_CALLS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "cc/base/status.h"
#include "cc/capi/persia.h"

namespace persia {

inline constexpr double kTimeout = 30;

inline int CodeOf(Code code) { return static_cast<int>(code); }

// The last call failed with `code`, and its message says `part`.
inline void ExpectError(int returned, Code code, const std::string& part) {
  const std::string message = persia_last_error();
  EXPECT_EQ(returned, CodeOf(code)) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

inline void ExpectOk(int returned) {
  EXPECT_EQ(returned, 0) << persia_last_error();
}

inline int Open(const char* name, const std::string& addresses, double timeout,
                int staleness, const char* wire_dtype = "float32") {
  persia_session_options options = {};
  options.addresses = addresses.c_str();
  options.timeout_seconds = timeout;
  options.staleness = staleness;
  options.wire_dtype = wire_dtype;
  return persia_session_open(name, &options);
}

inline int CreateTable(const char* session, const char* table, int dim,
                       const char* optimizer, uint64_t* rows) {
  persia_table_settings settings = {};
  settings.dim = dim;
  settings.initializer = "zeros";
  settings.optimizer = optimizer;
  settings.seed = 7;
  return persia_session_create_table(session, table, &settings, rows);
}

inline uint64_t CounterOf(const persia_counters& counters,
                          const std::string& name) {
  for (int i = 0; i < counters.count; ++i) {
    if (counters.list[i].name == name) return counters.list[i].value;
  }
  ADD_FAILURE() << "there is no counter " << name;
  return 0;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CAPI_CAPI_CALLS_H_
