#include "cc/pipeline/wanted_rows.h"

#include <algorithm>

#include "cc/pipeline/lookup.h"
#include "cc/pipeline/parallel_for.h"

namespace persia {
namespace {

// The floats that a thread copies at a time: enough to be worth the start of a
// thread, and so few that they fit into its cache.
constexpr size_t kPartFloats = size_t{64} << 10;

// Copies part `part` of `parts` of the lookup with number `number`: part of its
// vectors, or, if it cannot be split, either all of them or none.
void CopyPart(const WantedRows& wanted, size_t number, size_t part,
              size_t parts) {
  const LookupPlan& plan = *wanted.lookup->plan();
  if (plan.splits()) {
    const size_t begin = plan.vectors() * part / parts;
    const size_t end = plan.vectors() * (part + 1) / parts;
    wanted.lookup->CopyRows(wanted.rows, begin, end);
  } else if (part == number % parts) {
    wanted.lookup->CopyRows(wanted.rows);
  }
}

}  // namespace

void CopyRows(Span<const WantedRows> wanted, CallbackThreads* threads) {
  size_t floats = 0;
  for (const WantedRows& each : wanted) {
    floats += each.lookup->plan()->vectors() * each.lookup->plan()->dim;
  }
  // The vectors of several lookups may be columns of one matrix, so a part has
  // some vectors of each lookup, which are then near each other.
  const size_t parts = std::max<size_t>(floats / kPartFloats, 1);
  const auto copy = [&](size_t part) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      CopyPart(wanted[i], i, part, parts);
    }
  };
  ParallelFor(threads, parts, copy);
}

}  // namespace persia
