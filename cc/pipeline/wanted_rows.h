// WantedRows: where the rows of a lookup go, and a function that copies the
// rows of several lookups there.

#ifndef PERSIA_CC_PIPELINE_WANTED_ROWS_H_
#define PERSIA_CC_PIPELINE_WANTED_ROWS_H_

#include <memory>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/strided_span.h"
#include "cc/pipeline/callback_threads.h"

namespace persia {

class Lookup;

struct WantedRows {
  std::shared_ptr<Lookup> lookup;
  // Room for vectors() vectors of dim floats.
  StridedSpan<float> rows;
};

// Copies the rows of each lookup, as Lookup::CopyRows does. If there are many,
// some of `threads` copy parts of them. Blocks until all rows are copied.
// Precondition: the lookups have completed without an error.
void CopyRows(Span<const WantedRows> wanted, CallbackThreads* threads);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_WANTED_ROWS_H_
