#include "cc/log/log_tail.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "cc/log/log_format.h"

namespace persia {
namespace {

constexpr size_t kFillBytes = size_t{1} << 18;

}  // namespace

Status LogTail::Read(uint64_t durable, size_t most_bytes,
                     std::vector<uint8_t>* records) {
  while (position_ < durable && records->size() < most_bytes) {
    if (file_ == nullptr) PERSIA_RETURN_IF_ERROR(OpenSegment());
    if (next_in_segment_ >= segment_end_) {
      file_ = nullptr;
      continue;
    }
    PERSIA_RETURN_IF_ERROR(ReadOne(records));
  }
  return Status();
}

// A segment ends where the next one begins, whatever it has after that: a crash
// may have torn its end.
Status LogTail::OpenSegment() {
  auto segments = ListSegments(place_);
  // A segment may have been removed meanwhile.
  if (!segments.ok()) segments = ListSegments(place_);
  if (!segments.ok()) return segments.status();
  const auto after = std::find_if(
      segments->begin(), segments->end(),
      [&](const Segment& each) { return each.first_position > position_; });
  if (after == segments->begin()) {
    return Status(Code::kNotFound, Concat("the log in ", place_.folder,
                                          " no longer has record ", position_));
  }
  const Segment& segment = *(after - 1);
  if (segment.number == ended_segment_) return Damaged(position_);
  auto file = place_.files->Open(segment.path);
  if (!file.ok()) return file.status();
  file_ = std::move(*file);
  segment_ = segment.number;
  next_in_segment_ = segment.first_position;
  segment_end_ = after == segments->end() ? std::numeric_limits<uint64_t>::max()
                                          : after->first_position;
  bytes_.resize(kSegmentHeaderBytes);
  offset_ = kSegmentHeaderBytes;
  return file_->Read(bytes_).status();
}

Result<bool> LogTail::Fill() {
  bytes_.erase(bytes_.begin(),
               bytes_.begin() + static_cast<ptrdiff_t>(offset_));
  offset_ = 0;
  const size_t before = bytes_.size();
  bytes_.resize(before + kFillBytes);
  const auto read =
      file_->Read(Span<uint8_t>(bytes_.data() + before, kFillBytes));
  bytes_.resize(before + (read.ok() ? *read : 0));
  if (!read.ok()) return read.status();
  return *read > 0;
}

Status LogTail::ReadOne(std::vector<uint8_t>* records) {
  for (;;) {
    const size_t left = bytes_.size() - offset_;
    RecordHeader header;
    const bool has_header = left >= kRecordHeaderBytes;
    if (has_header) {
      const Span<const uint8_t> rest(bytes_.data() + offset_, left);
      if (!DecodeRecordHeader(rest, &header) ||
          header.position != next_in_segment_) {
        break;
      }
      const uint64_t size = RecordBytes(header.body_bytes);
      if (left >= size) {
        if (header.position == position_) {
          records->insert(records->end(), rest.data(), rest.data() + size);
          ++position_;
        }
        ++next_in_segment_;
        offset_ += size;
        return Status();
      }
    }
    const auto more = Fill();
    if (!more.ok()) return more.status();
    if (*more) continue;
    // The writer has begun another segment since this one was opened.
    if (has_header || left > 0) break;
    if (segment_end_ != std::numeric_limits<uint64_t>::max()) break;
    file_ = nullptr;
    ended_segment_ = segment_;
    return Status();
  }
  return Damaged(next_in_segment_);
}

Status LogTail::Damaged(uint64_t position) const {
  return Status(Code::kDataLoss,
                Concat("record ", position, " of the log in ", place_.folder,
                       " is damaged or missing"));
}

}  // namespace persia
