// LocalService: an EmbeddingService over a store in this process.
//
// Works on the caller's thread and calls `done` before it returns; deadlines
// are therefore not looked at. Thread-safe, as EmbeddingService says.

#ifndef PERSIA_CC_SERVICE_LOCAL_SERVICE_H_
#define PERSIA_CC_SERVICE_LOCAL_SERVICE_H_

#include <memory>

#include "cc/service/checkpoints.h"
#include "cc/service/embedding_service.h"

namespace persia {

// A service with an empty store of its own.
std::unique_ptr<EmbeddingService> MakeLocalService(
    const CheckpointOptions& checkpoints = {});

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_LOCAL_SERVICE_H_
