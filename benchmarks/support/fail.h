// Ends a benchmark that cannot continue.

#ifndef PERSIA_BENCHMARKS_SUPPORT_FAIL_H_
#define PERSIA_BENCHMARKS_SUPPORT_FAIL_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cc/base/status.h"

namespace persia::bench {

[[noreturn]] inline void Fail(const std::string& message) {
  std::fprintf(stderr, "benchmark: %s\n", message.c_str());
  std::exit(1);
}

inline void CheckOk(const Status& status) {
  if (!status.ok()) Fail(status.message());
}

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_FAIL_H_
