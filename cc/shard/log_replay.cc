#include "cc/shard/log_replay.h"

#include <atomic>
#include <utility>

#include "cc/saving/frozen_store.h"
#include "cc/writing/journal_records.h"

namespace persia {
namespace {

constexpr EventKind kFailedBases{"failed bases of a standby's log",
                                 EventLevel::kError, 10};

}  // namespace

LogReplay::~LogReplay() {
  if (base_ != nullptr) base_->cancelled = true;
}

Status LogReplay::Replay(const LogRecord& record) {
  const auto position =
      subject_.journal->Append(record.type, {&record.body, 1});
  if (!position.ok()) return position.status();
  if (*position != record.position) {
    return Status(Code::kDataLoss,
                  Concat("record ", record.position,
                         " of the primary's log became record ", *position));
  }
  // The primary has written a base here, so this is the place for the same one.
  if (static_cast<RecordType>(record.type) == RecordType::kCut) {
    subject_.recovery->RemoveGivenAway();
    PERSIA_RETURN_IF_ERROR(WriteBase(record.position));
  }
  return subject_.recovery->OnRecord(record);
}

// If the last base is still being written, there will be a next one.
Status LogReplay::WriteBase(uint64_t position) {
  if (writes_->exchange(true)) return Status();
  base_ = std::make_shared<ShardProgress>();
  auto frozen = std::make_shared<FrozenStore>([] { return uint64_t{0}; });
  const Status froze =
      Freeze(*subject_.slots.store, *subject_.slots.windows, frozen.get());
  if (!froze.ok()) {
    *writes_ = false;
    return froze;
  }
  ShardHeader shard;
  shard.member = subject_.slots.ownership->member();
  shard.slots = subject_.slots.ownership->slots();
  thread_.Run(
      Deadline::max(),
      [journal = subject_.journal, base = base_, frozen, shard, position] {
        return journal->WriteBase(position, shard, frozen->tables,
                                  frozen->clients, base.get());
      },
      [writes = writes_, events = subject_.events](const Status& written) {
        *writes = false;
        if (written.ok()) return;
        TellEvent(events, kFailedBases,
                  "a base of the standby's log could not be written, so the "
                  "log keeps growing: ",
                  written.message());
      });
  return Status();
}

}  // namespace persia
