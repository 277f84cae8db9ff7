// Require: what must hold in every run of a program of steps. If it does not
// hold, the steps so far are printed, and the process ends.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_REQUIRE_H_
#define PERSIA_TESTS_FUZZ_SERVICE_REQUIRE_H_

#include <chrono>
#include <functional>
#include <string>

#include "cc/base/status.h"

namespace persia {

// Forgets the lines traced so far.
void BeginTrace();

// Traces one step, or its outcome, as a line. Thread-safe.
void Trace(std::string line);

// Writes the traced lines to the standard error.
void PrintTrace();

// `tell` prints further information in that case, before the steps.
void BeforeFailing(std::function<void()> tell);

// Has a sanitizer print the steps too, when it ends the process.
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
