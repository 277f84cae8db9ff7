// Require: what must hold in every run of a program of steps. Where it does
// not, the steps so far are told, and the process ends.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_REQUIRE_H_
#define PERSIA_TESTS_FUZZ_SERVICE_REQUIRE_H_

#include <chrono>
#include <functional>
#include <string>

#include "cc/base/status.h"

namespace persia {

// Forgets the steps that were told.
void BeginTrace();

// One step, or what came of it, in a line. Thread-safe.
void Trace(std::string line);

// Writes the steps to the standard error.
void PrintTrace();

// What else is told then, before the steps.
void BeforeFailing(std::function<void()> tell);

// Has a sanitizer that ends the process tell the steps too.
void TraceFindings();

// How long anything may take.
inline std::chrono::seconds& HangTime() {
  static std::chrono::seconds time(60);
  return time;
}

[[noreturn]] void Fail(const std::string& what);

template <typename... Parts>
void Require(bool holds, const Parts&... parts) {
  if (!holds) Fail(Concat(parts...));
}

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_REQUIRE_H_
