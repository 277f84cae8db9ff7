// Unpacks records as TensorFlow writes them to files: each has its length and a
// checksum of that before it, and a checksum of its bytes after it.
//
// Thread-safe: plain functions. Never blocks.

#ifndef PERSIA_CC_COLUMNS_RECORDS_H_
#define PERSIA_CC_COLUMNS_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Each record has so many bytes more than its content, at least.
constexpr size_t kRecordFrameBytes = 16;

// Moves the contents of all records to the front of `bytes`, one after the
// other. Sets `offsets` to where each begins, and where the last one ends.
// Returns kDataLoss, with the number of the record and its place, if a checksum
// is wrong or the last record is not whole; `bytes` are spoiled then.
PERSIA_EXPORT Status UnpackRecords(MutableBytes bytes,
                                   std::vector<int64_t>* offsets);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_RECORDS_H_
