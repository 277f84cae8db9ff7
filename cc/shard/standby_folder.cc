#include "cc/shard/standby_folder.h"

#include <algorithm>
#include <vector>

#include "cc/log/segments.h"

namespace persia {
namespace {

constexpr char kFile[] = "standby";
constexpr char kCopy[] = "copy\n";
constexpr char kPromoted[] = "promoted\n";

std::string PathOf(const JournalOptions& journal) {
  return journal.folder + "/" + kFile;
}

Result<std::string> ReadWhole(const JournalOptions& journal) {
  auto file = journal.files->Open(PathOf(journal));
  if (!file.ok()) return file.status();
  std::vector<uint8_t> bytes(64);
  const auto read = (*file)->Read(bytes);
  if (!read.ok()) return read.status();
  return std::string(bytes.begin(),
                     bytes.begin() + static_cast<ptrdiff_t>(*read));
}

}  // namespace

Result<FolderState> StateOfFolder(const JournalOptions& journal) {
  const auto names = journal.files->List(journal.folder);
  if (!names.ok()) return names.status();
  if (std::find(names->begin(), names->end(), kFile) != names->end()) {
    const auto text = ReadWhole(journal);
    if (!text.ok()) return text.status();
    if (*text == kCopy) return FolderState::kCopy;
    if (*text == kPromoted) return FolderState::kPromoted;
    return Status(Code::kDataLoss, Concat(PathOf(journal),
                                          " must say \"copy\" or \"promoted\", "
                                          "received \"",
                                          *text, "\""));
  }
  const auto segments = ListSegments({journal.files, journal.folder});
  if (!segments.ok()) return segments.status();
  if (segments->empty()) return FolderState::kEmpty;
  return Status(
      Code::kFailedPrecondition,
      Concat(journal.folder,
             " has the log of a shard that was never a standby: give the "
             "standby an empty recovery folder"));
}

Status SetStateOfFolder(const JournalOptions& journal, FolderState state) {
  const std::string text = state == FolderState::kCopy ? kCopy : kPromoted;
  PERSIA_RETURN_IF_ERROR(journal.files->MakeFolder(journal.folder));
  return journal.files->WriteWhole(
      PathOf(journal),
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace persia
