#include "cc/pipeline/wanted_rows.h"

#include <algorithm>
#include <vector>

#include "cc/pipeline/lookup.h"
#include "cc/pipeline/parallel_for.h"

namespace persia {
namespace {

// The floats that a thread copies at a time: enough to be worth the start of a
// thread, and so few that no thread works long after the others.
constexpr size_t kPartFloats = size_t{64} << 10;

// Vectors of one lookup.
struct Part {
  const WantedRows* wanted;
  size_t begin;
  size_t end;
};

std::vector<Part> PartsOf(Span<const WantedRows> wanted) {
  std::vector<Part> parts;
  for (const WantedRows& each : wanted) {
    const LookupPlan& plan = *each.lookup->plan();
    const size_t count = plan.vectors();
    const size_t step =
        std::max<size_t>(plan.splits() ? kPartFloats / plan.dim : count, 1);
    // A lookup without vectors has a part too.
    for (size_t begin = 0; begin == 0 || begin < count; begin += step) {
      parts.push_back({&each, begin, std::min(begin + step, count)});
    }
  }
  return parts;
}

}  // namespace

void CopyRows(Span<const WantedRows> wanted, CallbackThreads* threads) {
  size_t floats = 0;
  for (const WantedRows& each : wanted) {
    floats += each.lookup->plan()->vectors() * each.lookup->plan()->dim;
  }
  if (floats < 2 * kPartFloats) {
    for (const WantedRows& each : wanted) each.lookup->CopyRows(each.rows);
    return;
  }
  const std::vector<Part> parts = PartsOf(wanted);
  ParallelFor(threads, parts.size(), [&](size_t p) {
    const Part& part = parts[p];
    part.wanted->lookup->CopyRows(part.wanted->rows, part.begin, part.end);
  });
}

}  // namespace persia
