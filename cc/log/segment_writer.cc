#include "cc/log/segment_writer.h"

#include <utility>

namespace persia {

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::Open(
    const LogPlace& place, const SegmentOptions& options, uint64_t number,
    uint64_t first_position) {
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(place, options));
  PERSIA_RETURN_IF_ERROR(writer->Begin(number, first_position));
  return writer;
}

Status SegmentWriter::Begin(uint64_t number, uint64_t first_position) {
  auto made = CreateSegment(place_, number, first_position, options_.sync);
  if (!made.ok()) return made.status();
  current_ = std::move(*made);
  bytes_ = kSegmentHeaderBytes;
  return Status();
}

Status SegmentWriter::Write(Span<const uint8_t> batch,
                            uint64_t first_position) {
  if (bytes_ > kSegmentHeaderBytes && bytes_ >= options_.max_bytes) {
    PERSIA_RETURN_IF_ERROR(Close());
    PERSIA_RETURN_IF_ERROR(Begin(current_.segment.number + 1, first_position));
  }
  PERSIA_RETURN_IF_ERROR(current_.file->Append(batch));
  bytes_ += batch.size();
  return options_.sync == SyncMode::kDevice ? current_.file->Sync() : Status();
}

Status SegmentWriter::Close() { return current_.file->Close(); }

}  // namespace persia
