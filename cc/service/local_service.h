// LocalService: an EmbeddingService over a store in this process.
//
// Works on the caller's thread and calls `done` before it returns; deadlines
// are therefore not looked at. But with a log of every change, `done` may be
// called on the log's thread, once what was changed, or may have been seen, is
// durable; and what is asked about checkpoints, but for their progress, is done
// on a thread of its own (FileThread). Thread-safe, as EmbeddingService says.

#ifndef PERSIA_CC_SERVICE_LOCAL_SERVICE_H_
#define PERSIA_CC_SERVICE_LOCAL_SERVICE_H_

#include <memory>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/checkpoints.h"
#include "cc/service/embedding_service.h"
#include "cc/service/recovery.h"
#include "cc/store/store.h"

namespace persia {

struct LocalServiceOptions {
  CheckpointOptions checkpoints;
  RecoveryOptions recovery;
  StoreLimits limits;
  EventLog* events = nullptr;  // Must outlive the service; or null.
};

// A service with an empty store of its own.
std::unique_ptr<EmbeddingService> MakeLocalService();

// One with what its recovery folder has, if there is one. Blocks for as long as
// reading takes. Errors are those of Journal::Open and of Recovery.
Result<std::unique_ptr<EmbeddingService>> OpenLocalService(
    const LocalServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_LOCAL_SERVICE_H_
