#include "cc/journal/journal_copy.h"

#include <string>
#include <utility>

#include "cc/journal/base_name.h"
#include "cc/log/segments.h"

namespace persia {
namespace {

// The oldest records go first, and the bases last: whatever is left after a
// crash is refused as a journal that lacks records.
Status RemoveCopy(const JournalOptions& options) {
  const auto segments = ListSegments({options.files, options.folder});
  if (!segments.ok()) return segments.status();
  for (const Segment& segment : *segments) {
    PERSIA_RETURN_IF_ERROR(options.files->Remove(segment.path));
  }
  const auto names = options.files->List(options.folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!IsBaseName(name)) continue;
    PERSIA_RETURN_IF_ERROR(options.files->Remove(options.folder + "/" + name));
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<JournalCopy>> JournalCopy::Begin(
    const JournalOptions& options, uint64_t position) {
  PERSIA_RETURN_IF_ERROR(options.files->MakeFolder(options.folder));
  auto lock =
      FolderLock::Take(options.folder, DeadlineAfter(options.lock_seconds));
  if (!lock.ok()) return lock.status();
  PERSIA_RETURN_IF_ERROR(RemoveCopy(options));
  std::unique_ptr<JournalCopy> copy(new JournalCopy(options, position));
  copy->lock_ = std::move(*lock);
  return copy;
}

Status JournalCopy::Append(Span<const uint8_t> bytes) {
  if (base_ == nullptr) {
    auto file = options_.files->CreateLarge(
        options_.folder + "/" + BaseName(position_) + kUnfinishedBase);
    if (!file.ok()) return file.status();
    base_ = std::move(*file);
  }
  return base_->Append(bytes);
}

Status JournalCopy::Finish() {
  if (base_ == nullptr) return Status();
  const std::string path = options_.folder + "/" + BaseName(position_);
  PERSIA_RETURN_IF_ERROR(base_->Finish());
  auto segment = CreateSegment({options_.files, options_.folder}, 1, position_,
                               options_.sync);
  if (!segment.ok()) return segment.status();
  PERSIA_RETURN_IF_ERROR(segment->file->Finish());
  return options_.files->Rename(path + kUnfinishedBase, path);
}

}  // namespace persia
