#include "cc/log/log_batch.h"

#include <algorithm>

namespace persia {

void LogBatch::Add(const RecordHeader& header,
                   Span<const Span<const uint8_t>> parts) {
  const size_t at = bytes_.size();
  const size_t size = at + RecordBytes(header.body_bytes);
  // All memory is allocated first, so that nothing below throws and leaves half
  // a record.
  if (size > bytes_.capacity()) bytes_.reserve(std::max(size, kept_bytes_));
  bytes_.resize(at + kRecordHeaderBytes);
  EncodeRecordHeader(header, Span<uint8_t, kRecordHeaderBytes>(
                                 bytes_.data() + at, kRecordHeaderBytes));
  for (const Span<const uint8_t> part : parts) {
    bytes_.insert(bytes_.end(), part.begin(), part.end());
  }
  bytes_.resize(size);  // Appends the zeros of the padding.
}

void LogBatch::Clear() {
  bytes_.clear();
  // Frees the memory of an oversized record instead of retaining it.
  if (bytes_.capacity() > kept_bytes_) std::vector<uint8_t>().swap(bytes_);
}

}  // namespace persia
