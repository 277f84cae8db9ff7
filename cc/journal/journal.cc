#include "cc/journal/journal.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "cc/checkpoint/store_loader.h"
#include "cc/files/url.h"
#include "cc/journal/base_name.h"

namespace persia {
namespace {

constexpr EventKind kLogFailures{"failures of the recovery log",
                                 EventLevel::kError, 1};

void TellFailure(EventLog* events, const Status& why) {
  TellEvent(events, kLogFailures,
            "this shard refuses every change: ", why.message());
}

// Loads all tables of a base.
class BaseLoader : public ShardVisitor {
 public:
  explicit BaseLoader(uint64_t save_id) : save_id_(save_id) {}

  Status OnHeader(const ShardHeader& header) override {
    loader_ = std::make_unique<StoreLoader>(&none_, header);
    loader_->TakeAllRows();
    loader_->KeepTimes();
    if (header.save_id == save_id_) return loader_->OnHeader(header);
    return Status(Code::kDataLoss, Concat("the file is the base of position ",
                                          header.save_id - 1,
                                          ", not of position ", save_id_ - 1));
  }
  Status OnTable(const TableHead& table) override {
    return loader_->OnTable(table);
  }
  Status OnErased(Span<const int64_t> ids) override {
    return loader_->OnErased(ids);
  }
  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override {
    return loader_->OnRows(ids, rows);
  }
  Status OnClients(const std::vector<ClientWindow>& clients) override {
    return loader_->OnClients(clients);
  }

  StoreLoader* loader() { return loader_.get(); }

 private:
  const uint64_t save_id_;
  const Store none_;
  std::unique_ptr<StoreLoader> loader_;
};

// Returns the save id of the base at `position`. It is never 0, because 0 is no
// valid save id.
uint64_t SaveId(uint64_t position) { return position + 1; }

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const JournalOptions& options,
                                               JournalVisitor* visitor) {
  if (IsUrl(options.folder)) {
    return InvalidArgument(
        "a recovery folder must be a folder of this machine, received \"",
        options.folder, "\"");
  }
  std::unique_ptr<Journal> journal(new Journal(options));
  PERSIA_RETURN_IF_ERROR(options.files->MakeFolder(options.folder));
  auto lock =
      FolderLock::Take(options.folder, DeadlineAfter(options.lock_seconds));
  if (!lock.ok()) return lock.status();
  journal->lock_ = std::move(*lock);
  PERSIA_RETURN_IF_ERROR(journal->Read(visitor));
  return journal;
}

Status Journal::Read(JournalVisitor* visitor) {
  const auto newest = NewestBase(options_.files, options_.folder);
  if (!newest.ok()) return newest.status();
  const std::optional<uint64_t> base = *newest;
  const uint64_t from = base.value_or(0);
  if (base) PERSIA_RETURN_IF_ERROR(ReadBase(from, visitor));
  auto log = LogReader::Open(place(), from, options_.lose_from);
  if (!log.ok()) return base ? WithoutLog(*base, log.status()) : log.status();
  uint64_t records = 0;
  for (;;) {
    const auto record = (*log)->Next();
    if (!record.ok()) {
      return base && records == 0 ? WithoutLog(*base, record.status())
                                  : record.status();
    }
    if (!record->has_value()) break;
    PERSIA_RETURN_IF_ERROR(visitor->OnRecord(**record));
    appended_bytes_ += RecordBytes((*record)->body.size());
    ++records;
  }
  // A base gets its final name only when the record at its position is durable,
  // so a log without this record is damaged.
  if (base && records == 0 && !options_.is_copy) {
    return WithoutLog(
        *base,
        Status(Code::kDataLoss, Concat("the log ends after ", from,
                                       " records, so that record is missing")));
  }
  notes_ = Concat(base ? "a base and " : "", records, " records");
  torn_tail_ = (*log)->torn_tail();
  LogOptions writing{{options_.sync}};
  writing.on_failure = [events = options_.events](const Status& why) {
    TellFailure(events, why);
  };
  auto writer = LogWriter::Open(**log, writing);
  if (!writer.ok()) return writer.status();
  log_ = std::move(*writer);
  return RemoveOldBases(from);
}

// Returns the error for a base without the log records that follow it. `log` is
// the error that names the missing records.
Status Journal::WithoutLog(uint64_t base, const Status& log) const {
  if (log.code() != Code::kDataLoss) return log;
  return Status(log.code(),
                Concat(BasePath(base), " needs the log from record ", base,
                       " on: ", log.message(),
                       "; put the missing files of the folder back, or start "
                       "with an empty recovery folder"));
}

Status Journal::ReadBase(uint64_t position, JournalVisitor* visitor) {
  BaseLoader base(SaveId(position));
  ShardProgress progress;
  PERSIA_RETURN_IF_ERROR(
      ReadShard(options_.files, BasePath(position), &base, &progress));
  base_bytes_ = progress.bytes.load();
  return visitor->OnBase(base.loader()->TakeTables(),
                         base.loader()->TakeClients());
}

Result<uint64_t> Journal::Append(uint16_t type,
                                 Span<const Span<const uint8_t>> parts) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.ok()) return broken_;
  }
  auto position = log_->Append(type, parts);
  if (!position.ok()) return position.status();
  uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part.size();
  appended_bytes_.fetch_add(RecordBytes(bytes), std::memory_order_relaxed);
  return *position;
}

void Journal::WhenDurable(uint64_t position, LogWriter::DurableCallback done) {
  if (position == 0) return done(Status());
  if (log_->IsDurable(position - 1)) return done(Status());
  log_->WhenDurable(position - 1, std::move(done));
}

Status Journal::BlockUntilDurable(uint64_t position) {
  std::promise<Status> outcome;
  WhenDurable(position, [&](Status status) { outcome.set_value(status); });
  return outcome.get_future().get();
}

Status Journal::BlockUntilAcknowledged(uint64_t position) {
  PERSIA_RETURN_IF_ERROR(BlockUntilDurable(position));
  return also_await_ == nullptr ? Status() : also_await_(position);
}

void Journal::Break(const Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!broken_.ok()) return;
  broken_ = Status(status.code(),
                   Concat("logging has stopped, since a change could not be "
                          "logged: ",
                          status.message(), "; restart this shard"));
  TellFailure(options_.events, broken_);
}

void Journal::DemandBase(const std::string& folder) {
  const uint64_t position = log_->position();
  std::lock_guard<std::mutex> lock(mutex_);
  needed_checkpoint_ = folder;
  needed_before_ = position;
  needs_checkpoint_ = true;
}

std::string Journal::needed_checkpoint() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return needed_checkpoint_;
}

Journal::Progress Journal::progress() const {
  const LogWriter::Backlog backlog = log_->backlog();
  Progress progress;
  progress.records = log_->position();
  progress.pending = backlog.records;
  progress.bytes = appended_bytes_.load(std::memory_order_relaxed);
  progress.base_bytes = base_bytes_.load(std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(mutex_);
  progress.has_failed = !broken_.ok() || !backlog.error.ok();
  return progress;
}

bool Journal::wants_base() const {
  return needs_checkpoint_ ||
         appended_bytes_.load(std::memory_order_relaxed) >=
             std::max(options_.least_base_bytes,
                      base_bytes_.load(std::memory_order_relaxed));
}

Status Journal::WriteBase(uint64_t position, const ShardHeader& shard,
                          const std::vector<SavedTable>& tables,
                          const std::vector<ClientWindow>& clients,
                          ShardProgress* progress) {
  // Bytes that are logged during this call count towards the next base.
  const uint64_t before = appended_bytes_.load();
  const std::string path = BasePath(position);
  const ShardHeader header{SaveId(position), 0, shard.member, shard.slots};
  const Status written = WriteShard(options_.files, path + kUnfinishedBase,
                                    header, tables, clients, progress);
  if (!written.ok()) {
    (void)options_.files->Remove(path + kUnfinishedBase);
    return written;
  }
  PERSIA_RETURN_IF_ERROR(BlockUntilDurable(position + 1));
  PERSIA_RETURN_IF_ERROR(options_.files->Rename(path + kUnfinishedBase, path));
  base_bytes_ = progress->bytes.load();
  appended_bytes_ -= before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (position >= needed_before_) {
      needed_checkpoint_.clear();
      needs_checkpoint_ = false;
    }
  }
  return RemoveBefore(position);
}

Status Journal::RemoveBefore(uint64_t position) {
  std::lock_guard<std::mutex> lock(removing_);
  PERSIA_RETURN_IF_ERROR(RemoveOldBases(position));
  return RemoveSegmentsBefore(place(), std::min(position, retained_.load()));
}

Result<OpenBase> Journal::BeginCopy() {
  std::lock_guard<std::mutex> lock(removing_);
  const auto newest = NewestBase(options_.files, options_.folder);
  if (!newest.ok()) return newest.status();
  OpenBase base;
  if (*newest) {
    base.position = **newest;
    const auto bytes = options_.files->Size(BasePath(base.position));
    if (!bytes.ok()) return bytes.status();
    base.bytes = *bytes;
    auto file = options_.files->Open(BasePath(base.position));
    if (!file.ok()) return file.status();
    base.file = std::move(*file);
  }
  Retain(base.position);
  return base;
}

// Removes all bases except the one at `position`, and unfinished bases.
Status Journal::RemoveOldBases(uint64_t position) const {
  const auto names = options_.files->List(options_.folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!IsBaseName(name) || name == BaseName(position)) continue;
    PERSIA_RETURN_IF_ERROR(
        options_.files->Remove(options_.folder + "/" + name));
  }
  return Status();
}

std::string Journal::BasePath(uint64_t position) const {
  return options_.folder + "/" + BaseName(position);
}

LogPlace Journal::place() const { return {options_.files, options_.folder}; }

}  // namespace persia
