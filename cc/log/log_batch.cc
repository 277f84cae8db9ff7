#include "cc/log/log_batch.h"

#include <algorithm>

namespace persia {

void LogBatch::Add(const RecordHeader& header,
                   Span<const Span<const uint8_t>> parts) {
  const size_t at = bytes_.size();
  const size_t size = at + RecordBytes(header.body_bytes);
  // Allocate everything first, so that nothing below throws.
  if (size > bytes_.capacity()) bytes_.reserve(std::max(size, kept_bytes_));
  bytes_.resize(at + kRecordHeaderBytes);
  EncodeRecordHeader(header, Span<uint8_t, kRecordHeaderBytes>(
                                 bytes_.data() + at, kRecordHeaderBytes));
  for (const Span<const uint8_t> part : parts) {
    bytes_.insert(bytes_.end(), part.begin(), part.end());
  }
  bytes_.resize(size);  // Zeros.
}

void LogBatch::Clear() {
  bytes_.clear();
  // Do not retain the memory of an oversized record.
  if (bytes_.capacity() > kept_bytes_) std::vector<uint8_t>().swap(bytes_);
}

}  // namespace persia
