// LogBatch: encoded log records that are written to a file together.
//
// Not thread-safe. No call blocks.

#ifndef PERSIA_CC_LOG_LOG_BATCH_H_
#define PERSIA_CC_LOG_LOG_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/log/log_format.h"

namespace persia {

class LogBatch {
 public:
  // Reserves `kept_bytes` of memory, whose pages are touched only as the batch
  // fills. Throws std::bad_alloc.
  explicit LogBatch(size_t kept_bytes) : kept_bytes_(kept_bytes) {
    bytes_.reserve(kept_bytes);
  }

  // Whether a record with a body of `body_bytes` fits into the reserved memory.
  // An empty batch accepts a record of any size.
  bool Fits(uint64_t body_bytes) const {
    return empty() || bytes_.size() + RecordBytes(body_bytes) <= kept_bytes_;
  }

  // Adds a record whose body is the concatenation of `parts`. If this throws
  // std::bad_alloc, the batch does not change.
  void Add(const RecordHeader& header, Span<const Span<const uint8_t>> parts);

  void Clear();

  bool empty() const { return bytes_.empty(); }
  Span<const uint8_t> bytes() const { return bytes_; }

 private:
  size_t kept_bytes_;
  std::vector<uint8_t> bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_BATCH_H_
