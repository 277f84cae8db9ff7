#include "tests/fuzz/service_steps/shrink.h"

#include <algorithm>

#include "tests/fuzz/service/program.h"

namespace persia {
namespace {

size_t StepsOf(const Program& program) {
  return (program.size() - kSettingsBytes) / kStepBytes;
}

Program Without(const Program& program, size_t first, size_t count) {
  Program shorter = program;
  const auto begin = shorter.begin() + static_cast<ptrdiff_t>(
                                           kSettingsBytes + first * kStepBytes);
  shorter.erase(begin, begin + static_cast<ptrdiff_t>(count * kStepBytes));
  return shorter;
}

using Fails = std::function<bool(const Program&)>;

// Leaves out runs of steps, long runs first.
bool LeaveOut(Program* program, const Fails& fails) {
  bool is_shorter = false;
  for (size_t count = std::max<size_t>(1, StepsOf(*program) / 2); count > 0;
       count /= 2) {
    // From the end, since the steps after the failure are not needed.
    for (size_t end = StepsOf(*program); end >= count; end -= count) {
      Program shorter = Without(*program, end - count, count);
      if (!fails(shorter)) continue;
      *program = std::move(shorter);
      is_shorter = true;
    }
  }
  return is_shorter;
}

// Sets the bytes of steps and settings to 0, except those that choose the
// action.
void ZeroNumbers(Program* program, const Fails& fails) {
  for (size_t at = 0; at < program->size(); ++at) {
    if (at >= kSettingsBytes && at % kStepBytes == 0) continue;
    if ((*program)[at] == 0) continue;
    Program simpler = *program;
    simpler[at] = 0;
    if (fails(simpler)) *program = std::move(simpler);
  }
}

}  // namespace

Program Shrink(Program program, const Fails& fails) {
  while (LeaveOut(&program, fails)) continue;
  ZeroNumbers(&program, fails);
  while (LeaveOut(&program, fails)) continue;
  return program;
}

}  // namespace persia
