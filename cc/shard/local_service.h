// LocalService: an EmbeddingService over a store in this process.
//
// A call does its work on the caller's thread and calls `done` before it
// returns; deadlines are therefore ignored. There are two exceptions:
// - With a log of every change, `done` may be called on the log's thread, once
//   everything that the call changed or may have seen is durable.
// - These requests run on a thread of their own (FileThread), which observes
//   deadlines: checkpoint requests other than kProgress, requests for files,
//   drops of tables, and changes of a table's optimizer.
//
// Thread-safe, as EmbeddingService says.

#ifndef PERSIA_CC_SHARD_LOCAL_SERVICE_H_
#define PERSIA_CC_SHARD_LOCAL_SERVICE_H_

#include <functional>
#include <memory>

#include "cc/base/event_log.h"
#include "cc/base/owned_slots.h"
#include "cc/base/status.h"
#include "cc/saving/checkpoints.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/recovery.h"
#include "cc/shard/slot_taker.h"
#include "cc/store/store.h"

namespace persia {

// When a shard with a log of every change replies to what changes something.
enum class Acknowledge {
  kSelf = 1,  // Once it is durable.
  // Once its standby has it durably, too, as soon as the shard has a standby.
  kStandby = 2,
};

struct LocalServiceOptions {
  CheckpointOptions checkpoints;
  RecoveryOptions recovery;
  StoreLimits limits;
  EventLog* events = nullptr;  // May be null; must outlive the service.
  // How the shard reaches other shards. If null, it takes no slots over.
  ConnectToShard connect;
  Acknowledge acknowledge = Acknowledge::kSelf;
  // Returns the slots of which followers are told; null for those that the
  // shard owns. See Follower::Subject::slots.
  std::function<OwnedSlots()> followed_slots = nullptr;
};

// A service with an empty store of its own.
std::unique_ptr<EmbeddingService> MakeLocalService();

// A service that recovers its store from the recovery folder, if the options
// name one. Blocks while it reads the folder. Errors are those of Journal::Open
// and of Recovery.
Result<std::unique_ptr<EmbeddingService>> OpenLocalService(
    const LocalServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_LOCAL_SERVICE_H_
