#include "cc/checkpoint/chain.h"

#include <algorithm>

#include "cc/base/hash.h"

namespace persia {
namespace {

// Checks that `file` is the one before `next` in a shard's chain; `next` is
// null for the last one, which must be of save `save_id`.
Status CheckNext(const ChainFile& file, const ChainFile* next,
                 uint64_t save_id) {
  const uint64_t expected = next == nullptr ? save_id : next->header.parent_id;
  if (file.header.save_id == expected) {
    if (next == nullptr || file.header.slots == next->header.slots) {
      return Status();
    }
    return Status(Code::kDataLoss,
                  Concat(next->path, " is an increment of ", file.path,
                         ", but holds the rows of other slots"));
  }
  if (expected == 0) {
    return Status(Code::kDataLoss,
                  Concat(file.path, " belongs to save ", file.header.save_id,
                         ", which no other file of the checkpoint builds on"));
  }
  return Status(Code::kDataLoss,
                Concat(file.path, " belongs to save ", file.header.save_id,
                       ", but its checkpoint is of save ", expected));
}

Status HeldTwice(const std::vector<ChainFile>& chain, const ChainFile& file,
                 const SlotSet& slots) {
  const auto other =
      std::find_if(chain.begin(), chain.end(), [&](const ChainFile& each) {
        return each.header.save_id == file.header.save_id &&
               (each.header.slots & slots).any();
      });
  return Status(
      Code::kDataLoss,
      Concat("the rows of the slots ", ToString(other->header.slots & slots),
             " are both in ", other->path, " and in ", file.path));
}

class TimesVisitor : public ShardVisitor {
 public:
  TimesVisitor(const ShardProgress* progress, NewestTimes* times)
      : progress_(*progress), times_(*times) {}

  Status OnHeader(const ShardHeader& header) override {
    shard_ = header.member;
    return Status();
  }
  Status OnTable(const TableHead& table) override {
    times_[{shard_, HashName(table.config.name)}] = table.time;
    return Status();
  }
  Status OnErased(Span<const int64_t>) override { return Status(); }
  Status OnRows(Span<const int64_t>, Span<const std::byte>) override {
    if (!progress_.cancelled) return Status();
    return Status(Code::kCancelled, "the restore was cancelled");
  }
  Status OnClients(const std::vector<ClientWindow>&) override {
    return Status();
  }

 private:
  const ShardProgress& progress_;
  NewestTimes& times_;
  uint64_t shard_ = 0;
};

}  // namespace

Result<std::vector<ChainFile>> ReadChain(FileSystem* files,
                                         const std::vector<std::string>& paths,
                                         uint64_t save_id) {
  std::vector<ChainFile> chain;
  for (const std::string& path : paths) {
    auto header = ReadShardHeader(files, path);
    if (!header.ok()) return header.status();
    chain.push_back({path, *header});
  }
  // For each shard, the oldest file that the loop below has visited.
  std::map<uint64_t, const ChainFile*> oldest;
  for (auto file = chain.rbegin(); file != chain.rend(); ++file) {
    const ChainFile*& next = oldest[file->header.member];
    PERSIA_RETURN_IF_ERROR(CheckNext(*file, next, save_id));
    next = &*file;
  }
  for (const auto& [shard, file] : oldest) {
    if (file->header.parent_id == 0) continue;
    return Status(Code::kDataLoss,
                  Concat(file->path, " is an increment of save ",
                         file->header.parent_id, ", which is missing"));
  }
  return chain;
}

Status CheckHasAllSlots(const std::vector<ChainFile>& chain, uint64_t save_id) {
  SlotSet held;
  for (const ChainFile& file : chain) {
    if (file.header.save_id != save_id) continue;
    const SlotSet twice = held & file.header.slots;
    if (twice.any()) return HeldTwice(chain, file, twice);
    held |= file.header.slots;
  }
  if (held.all()) return Status();
  return Status(
      Code::kDataLoss,
      Concat("the files of the checkpoint hold no rows of the slots ",
             ToString(~held), ": files of shards are missing from it"));
}

Result<NewestTimes> ReadNewestTimes(FileSystem* files,
                                    const std::vector<ChainFile>& chain,
                                    uint64_t save_id,
                                    const ShardProgress& progress) {
  NewestTimes times;
  TimesVisitor visitor(&progress, &times);
  for (const ChainFile& file : chain) {
    if (file.header.save_id != save_id || file.header.parent_id == 0) continue;
    ShardProgress unseen;
    PERSIA_RETURN_IF_ERROR(ReadShard(files, file.path, &visitor, &unseen));
  }
  return times;
}

}  // namespace persia
