#include "cc/log/log_reader.h"

#include <algorithm>
#include <utility>

namespace persia {

Result<std::unique_ptr<LogReader>> LogReader::Open(const LogPlace& place,
                                                   uint64_t from,
                                                   uint64_t lose_from) {
  auto segments = ListSegments(place);
  if (!segments.ok()) return segments.status();
  std::unique_ptr<LogReader> reader(
      new LogReader(place, from, lose_from, std::move(*segments)));
  PERSIA_RETURN_IF_ERROR(reader->Start());
  return reader;
}

LogReader::LogReader(const LogPlace& place, uint64_t from, uint64_t lose_from,
                     std::vector<Segment> segments)
    : place_(place),
      lose_from_(lose_from),
      segments_(std::move(segments)),
      position_(from) {}

Status LogReader::Start() {
  if (segments_.empty()) {
    PERSIA_RETURN_IF_ERROR(CheckEnd());
    is_at_end_ = true;
    return Status();
  }
  if (segments_[0].first_position > position_) {
    return Status(
        Code::kDataLoss,
        Concat("the log in ", place_.folder, " begins with record ",
               segments_[0].first_position, ", but record ", position_,
               " is needed: start from a newer checkpoint"));
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
                         ": give this process more memory"));
  }
  const auto read = (*file)->Read({bytes_.data(), bytes_.size()});
  if (!read.ok()) return read.status();
  if (*read < kSegmentHeaderBytes) {
    return Status(Code::kDataLoss,
                  Concat(path, " became shorter while it was read"));
  }
  scanner_.emplace(Span<const uint8_t>(bytes_.data(), *read),
                   segments_[current_].first_position,
                   segments_[current_].sync);
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

// A crash can leave a torn record at a segment's end. The next writer starts a
// new segment at the position where the intact records end. Trailing bytes of a
// segment are therefore torn rather than damaged if, and only if, the next
// segment starts with the next record.
Status LogReader::GoOn() {
  if (current_ + 1 == segments_.size()) return Finish();
  const Segment& next = segments_[current_ + 1];
  if (next.first_position != scanner_->position()) {
    return LoseOrFail(
        Concat(next.path, " begins with record ", next.first_position));
  }
  ++current_;
  return Load();
}

Status LogReader::Finish() {
  if (scanner_->HasLost()) {
    return LoseOrFail(segments_[current_].sync == SyncMode::kSystem
                          ? "the bytes there are not the beginning of a record"
                          : "the bytes after it show that records followed it");
  }
  if (scanner_->bytes_left() > 0) NoteTornTail(/*is_given_up=*/false);
  PERSIA_RETURN_IF_ERROR(CheckEnd());
  is_at_end_ = true;
  return Status();
}

// Fails if the log ends before the position from which it is read, because a
// caller that requests this position knows that earlier records existed.
Status LogReader::CheckEnd() const {
  const uint64_t end = scanner_ ? scanner_->position() : 0;
  if (end >= position_) return Status();
  return Status(Code::kDataLoss,
                Concat("the log in ", place_.folder, " ends after ", end,
                       " records, but record ", position_, " is needed"));
}

void LogReader::NoteTornTail(bool is_given_up) {
  torn_tail_ = {
      segments_[current_].path, scanner_->offset(), scanner_->bytes_left(),
      scanner_->CountLeft(),    is_given_up,        {}};
}

Status LogReader::LoseOrFail(const std::string& why) {
  const uint64_t lost = scanner_->position();
  if (lost != 0 && lost == lose_from_) {
    NoteTornTail(/*is_given_up=*/true);
    const auto end = segments_.begin() + static_cast<ptrdiff_t>(current_) + 1;
    torn_tail_->segments.assign(end, segments_.end());
    segments_.erase(end, segments_.end());
    PERSIA_RETURN_IF_ERROR(CheckEnd());
    is_at_end_ = true;
    return Status();
  }
  const bool survives_power = segments_[current_].sync == SyncMode::kDevice;
  return Status(
      Code::kDataLoss,
      Concat(segments_[current_].path, ": the log has no intact record ", lost,
             " at byte ", scanner_->offset(), ", but ", why,
             survives_power
                 ? ": the file was damaged"
                 : ": the file was damaged, or power was lost, which a log "
                   "with --log-sync system does not survive",
             "; restore the folder from a copy",
             lost == 0 ? Concat(", or start with an empty folder")
                       : Concat(", or give up this record and all records "
                                "after it: start with --lose-log-from=",
                                lost)));
}

}  // namespace persia
