#include "cc/checkpoint/compactor.h"

#include <map>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/base/keyed_hash.h"
#include "cc/checkpoint/chain.h"
#include "cc/checkpoint/shard_file_writer.h"
#include "cc/store/row_index.h"

namespace persia {
namespace {

// Counts the ids of all increments, and stores the client windows of the newest
// increment.
class Census : public ShardVisitor {
 public:
  Status OnHeader(const ShardHeader&) override { return Status(); }
  Status OnTable(const TableHead&) override { return Status(); }
  Status OnErased(Span<const int64_t> ids) override {
    ids_ += ids.size();
    return Status();
  }
  Status OnRows(Span<const int64_t> ids, Span<const std::byte>) override {
    ids_ += ids.size();
    return Status();
  }
  Status OnClients(const std::vector<ClientWindow>& clients) override {
    clients_ = clients;
    return Status();
  }

  size_t ids() const { return ids_; }
  const std::vector<ClientWindow>& clients() const { return clients_; }

 private:
  size_t ids_ = 0;
  std::vector<ClientWindow> clients_;
};

// Merges a chain's files into `out`. The files are visited from newest to
// oldest, so the first row or erasure that is visited for an id overrides all
// later ones. To limit memory, each pass over the files handles only a subset
// of the ids, chosen by hash.
class Merger : public ShardVisitor {
 public:
  Merger(size_t passes, const NewestTimes* times, ShardFileWriter* out)
      : passes_(passes), times_(*times), out_(*out) {}

  void BeginPass(size_t pass) {
    pass_ = pass;
    seen_.clear();
  }

  Status OnHeader(const ShardHeader& header) override {
    header_ = header;
    return Status();
  }

  // Assigns the time of the newest file to the rows of every file. The newest
  // file lists all tables, even those without rows.
  Status OnTable(const TableHead& table) override {
    EndTable();
    const TableKey key = HashName(table.config.name);
    table_ = table;
    table_.scope = SaveScope::kWhole;
    const auto newest = times_.find({header_.member, key});
    if (newest != times_.end()) table_.time = newest->second;
    const bool is_new = known_.try_emplace(key, table.config.Describe()).second;
    if (known_[key] != table.config.Describe()) {
      return Status(Code::kDataLoss,
                    Concat("table \"", table.config.name,
                           "\" has other settings in an earlier save than in a "
                           "later one"));
    }
    ids_ = &seen_[key];
    table_is_written_ = false;
    return is_new ? WriteTable() : Status();
  }

  // Collects the erased ids, which EndTable marks as seen after the table's
  // rows were read: one file may erase an id and then have a new row for it.
  Status OnErased(Span<const int64_t> ids) override {
    for (const int64_t id : ids) {
      if (IsOfPass(id)) erased_.push_back(id);
    }
    return Status();
  }

  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override {
    const size_t row_bytes = table_.layout.row_bytes;
    rows_.clear();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!IsOfPass(ids[i]) || !See(ids[i])) continue;
      rows_.ids.push_back(ids[i]);
      const std::byte* row = rows.data() + i * row_bytes;
      rows_.bytes.insert(rows_.bytes.end(), row, row + row_bytes);
    }
    if (rows_.ids.empty()) return Status();
    if (!table_is_written_) PERSIA_RETURN_IF_ERROR(WriteTable());
    return out_.AddRows(rows_.ids, rows_.bytes);
  }

  Status OnClients(const std::vector<ClientWindow>&) override {
    EndTable();
    return Status();
  }

 private:
  void EndTable() {
    for (const int64_t id : erased_) (void)See(id);
    erased_.clear();
  }

  bool IsOfPass(int64_t id) const {
    return hash_(static_cast<uint64_t>(id)) % passes_ == pass_;
  }

  // Returns whether no newer file has the id, and marks the id as seen. The
  // oldest file's ids are not marked, because no older file follows and a file
  // has at most one row per id.
  bool See(int64_t id) {
    if (ids_->Find(id) != RowIndex::kAbsent) return false;
    if (header_.parent_id != 0) ids_->Insert(id, 0);
    return true;
  }

  Status WriteTable() {
    table_is_written_ = true;
    return out_.AddTable(table_);
  }

  const size_t passes_;
  // A keyed hash, so that chosen ids cannot all fall into one pass.
  const KeyedHash hash_;
  const NewestTimes& times_;
  ShardFileWriter& out_;
  size_t pass_ = 0;
  std::map<TableKey, RowIndex> seen_;
  // The settings of each table, as text.
  std::map<TableKey, std::string> known_;
  ShardHeader header_;  // The header of the file being read.
  TableHead table_;
  bool table_is_written_ = false;
  // The ids of the current table that newer files had.
  RowIndex* ids_ = nullptr;
  std::vector<int64_t> erased_;
  RawRows rows_;
};

class Compactor {
 public:
  Compactor(FileSystem* files, const std::vector<ChainFile>* chain,
            size_t max_ids, ShardProgress* progress)
      : files_(*files),
        chain_(*chain),
        max_ids_(max_ids),
        progress_(*progress) {}

  Status Write(std::unique_ptr<WritableFile> file) {
    ShardHeader header = chain_.back().header;
    const auto times =
        ReadNewestTimes(&files_, chain_, header.save_id, progress_);
    if (!times.ok()) return times.status();
    Census census;
    for (size_t i = 1; i < chain_.size(); ++i) {
      PERSIA_RETURN_IF_ERROR(Read(chain_[i], &census));
    }
    ShardFileWriter out(std::move(file), &progress_);
    header.parent_id = 0;
    PERSIA_RETURN_IF_ERROR(out.Begin(header));
    const size_t passes = census.ids() / max_ids_ + 1;
    Merger merger(passes, &*times, &out);
    for (size_t pass = 0; pass < passes; ++pass) {
      merger.BeginPass(pass);
      for (auto next = chain_.rbegin(); next != chain_.rend(); ++next) {
        PERSIA_RETURN_IF_ERROR(Read(*next, &merger));
      }
    }
    return out.Finish(census.clients());
  }

 private:
  Status Read(const ChainFile& file, ShardVisitor* visitor) {
    ShardProgress unseen;
    return ReadShard(&files_, file.path, visitor, &unseen);
  }

  FileSystem& files_;
  const std::vector<ChainFile>& chain_;
  const size_t max_ids_;
  ShardProgress& progress_;
};

Status CheckIsChain(const std::vector<ChainFile>& chain) {
  if (chain.size() < 2) {
    return InvalidArgument("paths must name at least 2 files, received ",
                           chain.size());
  }
  for (const ChainFile& file : chain) {
    if (file.header.member == chain[0].header.member) continue;
    return InvalidArgument("paths must belong to one shard, received ",
                           chain[0].path, " and ", file.path);
  }
  return Status();
}

}  // namespace

Status CompactShard(FileSystem* files, const std::vector<std::string>& paths,
                    uint64_t save_id, const std::string& out,
                    const CompactOptions& options, ShardProgress* progress) {
  const auto chain = ReadChain(files, paths, save_id);
  if (!chain.ok()) return chain.status();
  PERSIA_RETURN_IF_ERROR(CheckIsChain(*chain));
  const Status status = CatchBadAlloc([&]() -> Status {
    auto file = files->CreateLarge(out);
    if (!file.ok()) return file.status();
    return Compactor(files, &*chain, options.max_ids, progress)
        .Write(std::move(*file));
  });
  if (!status.ok()) (void)files->Remove(out);
  return status;
}

}  // namespace persia
