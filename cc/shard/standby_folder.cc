#include "cc/shard/standby_folder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cc/log/segments.h"

namespace persia {
namespace {

constexpr char kFile[] = "standby";

struct NamedState {
  FolderState state;
  const char* name;
};
constexpr NamedState kStates[] = {{FolderState::kCopying, "copying"},
                                  {FolderState::kWhole, "whole"},
                                  {FolderState::kTaking, "taking"},
                                  {FolderState::kPromoted, "promoted"}};

std::string PathOf(const JournalOptions& journal) {
  return journal.folder + "/" + kFile;
}

Result<std::string> ReadFile(const JournalOptions& journal) {
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
  if (journal.folder.empty()) return FolderState::kNone;
  const auto names = journal.files->List(journal.folder);
  if (!names.ok()) return names.status();
  if (std::find(names->begin(), names->end(), kFile) == names->end()) {
    return FolderState::kNone;
  }
  const auto text = ReadFile(journal);
  if (!text.ok()) return text.status();
  for (const NamedState& each : kStates) {
    if (*text == each.name) return each.state;
  }
  return Status(Code::kDataLoss, Concat(PathOf(journal),
                                        " must say how far a standby is, but "
                                        "says \"",
                                        *text, "\""));
}

Status CheckFolderOfStandby(const JournalOptions& journal) {
  const auto state = StateOfFolder(journal);
  if (!state.ok() || *state != FolderState::kNone) return state.status();
  const auto segments = ListSegments({journal.files, journal.folder});
  if (!segments.ok()) return segments.status();
  if (segments->empty()) return Status();
  return Status(
      Code::kFailedPrecondition,
      Concat(journal.folder,
             " has the log of a shard that was never a standby: give the "
             "standby an empty recovery folder"));
}

Status CheckFolderOfShard(const JournalOptions& journal) {
  const auto state = StateOfFolder(journal);
  if (!state.ok()) return state.status();
  if (*state == FolderState::kNone || *state == FolderState::kPromoted) {
    return Status();
  }
  return Status(Code::kFailedPrecondition,
                Concat(journal.folder,
                       " has the log that a standby has copied: start it with "
                       "--standby-of, or give the shard another folder"));
}

Status SetStateOfFolder(const JournalOptions& journal, FolderState state) {
  std::string text;
  for (const NamedState& each : kStates) {
    if (each.state == state) text = each.name;
  }
  PERSIA_RETURN_IF_ERROR(journal.files->MakeFolder(journal.folder));
  return journal.files->WriteWhole(
      PathOf(journal),
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace persia
