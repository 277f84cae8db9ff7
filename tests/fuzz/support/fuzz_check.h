// FuzzCheck: what must hold for any input. libFuzzer keeps an input for which
// it does not hold.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_CHECK_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace persia {

inline void FuzzCheck(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", what);
  std::abort();
}

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_CHECK_H_
