#include "cc/checkpoint/chain.h"

#include <algorithm>
#include <set>

#include "cc/base/hash.h"

namespace persia {
namespace {

Status CheckNext(const ChainFile& file, uint64_t expected) {
  if (file.header.save_id == expected) return Status();
  if (expected == 0) {
    return Status(Code::kDataLoss,
                  Concat(file.path, " belongs to save ", file.header.save_id,
                         ", which no other file of the checkpoint builds on"));
  }
  return Status(Code::kDataLoss,
                Concat(file.path, " belongs to save ", file.header.save_id,
                       ", but its checkpoint is of save ", expected));
}

class TimesVisitor : public ShardVisitor {
 public:
  TimesVisitor(const ShardProgress* progress, NewestTimes* times)
      : progress_(*progress), times_(*times) {}

  Status OnHeader(const ShardHeader& header) override {
    shard_ = header.shard_index;
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
  uint32_t shard_ = 0;
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
  std::map<uint32_t, const ChainFile*> oldest;
  for (auto file = chain.rbegin(); file != chain.rend(); ++file) {
    const ChainFile*& next = oldest[file->header.shard_index];
    PERSIA_RETURN_IF_ERROR(
        CheckNext(*file, next == nullptr ? save_id : next->header.parent_id));
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

Status CheckAllShards(const std::vector<ChainFile>& chain) {
  std::set<uint32_t> shards;
  for (const ChainFile& file : chain) {
    shards.insert(file.header.shard_index);
    if (file.header.shard_count == chain[0].header.shard_count) continue;
    return Status(Code::kDataLoss,
                  Concat(file.path, " was saved by ", file.header.shard_count,
                         " shards, but ", chain[0].path, " was saved by ",
                         chain[0].header.shard_count));
  }
  if (!chain.empty() && shards.size() == chain[0].header.shard_count) {
    return Status();
  }
  return Status(Code::kDataLoss,
                Concat("the checkpoint must have files of all ",
                       chain.empty() ? 0 : chain[0].header.shard_count,
                       " shards, received files of ", shards.size()));
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
