#include "cc/log/log_reader.h"

#include <algorithm>
#include <utility>

namespace persia {

Result<std::unique_ptr<LogReader>> LogReader::Open(const LogPlace& place,
                                                   uint64_t from) {
  auto segments = ListSegments(place);
  if (!segments.ok()) return segments.status();
  std::unique_ptr<LogReader> reader(
      new LogReader(place, from, std::move(*segments)));
  PERSIA_RETURN_IF_ERROR(reader->Start());
  return reader;
}

LogReader::LogReader(const LogPlace& place, uint64_t from,
                     std::vector<Segment> segments)
    : place_(place), segments_(std::move(segments)), position_(from) {}

Status LogReader::Start() {
  if (segments_.empty()) {
    is_at_end_ = true;
    return Status();
  }
  if (segments_[0].first_position > position_) {
    return Status(
        Code::kDataLoss,
        Concat("the log in ", place_.folder, " begins with record ",
               segments_[0].first_position, ", and record ", position_,
               " is needed: start from a checkpoint that is as new"));
  }
  while (current_ + 1 < segments_.size() &&
         segments_[current_ + 1].first_position <= position_) {
    ++current_;
  }
  return Load();
}

Status LogReader::Load() {
  const std::string& path = segments_[current_].path;
  const auto size = place_.files->Size(path);
  if (!size.ok()) return size.status();
  auto file = place_.files->Open(path);
  if (!file.ok()) return file.status();
  scanner_.reset();
  if (!bytes_.Resize(*size)) {
    return Status(Code::kResourceExhausted,
                  Concat("no memory for the ", *size, " bytes of ", path,
                         ": give this process more"));
  }
  const auto read = (*file)->Read({bytes_.data(), bytes_.size()});
  if (!read.ok()) return read.status();
  if (*read < kSegmentHeaderBytes) {
    return Status(Code::kDataLoss, Concat(path, " became shorter"));
  }
  scanner_.emplace(Span<const uint8_t>(bytes_.data(), *read),
                   segments_[current_].first_position);
  return Status();
}

Result<std::optional<LogRecord>> LogReader::Next() {
  while (status_.ok() && !is_at_end_) {
    const auto record = scanner_->Next();
    if (!record) {
      status_ = GoOn();
    } else if (record->position >= position_) {
      position_ = record->position + 1;
      return record;
    }
  }
  if (!status_.ok()) return status_;
  return std::optional<LogRecord>();
}

// A crash tears what comes last. What is written after it begins where the
// intact records end, in a segment of its own: so bytes after these are torn
// ones exactly if the next segment begins with the next record.
Status LogReader::GoOn() {
  if (current_ + 1 == segments_.size()) return Finish();
  const Segment& next = segments_[current_ + 1];
  if (next.first_position != scanner_->position()) {
    return Lost(Concat(next.path, " begins with record ", next.first_position));
  }
  ++current_;
  return Load();
}

Status LogReader::Finish() {
  if (scanner_->HasLost()) {
    return Lost("the bytes after it show that there was more");
  }
  if (scanner_->bytes_left() > 0) {
    torn_tail_ = {segments_[current_].path, scanner_->offset(),
                  scanner_->bytes_left()};
  }
  position_ = std::max(position_, scanner_->position());
  is_at_end_ = true;
  return Status();
}

Status LogReader::Lost(const std::string& why) const {
  return Status(
      Code::kDataLoss,
      Concat(segments_[current_].path, ": the log has no intact record ",
             scanner_->position(), " at byte ", scanner_->offset(), ", but ",
             why, ": start from a checkpoint that is newer, or a copy"));
}

}  // namespace persia
