// DoFiles: how a shard carries out a FilesRequest, which reads, writes, lists
// or removes small files of a checkpoint, such as its manifest.

#ifndef PERSIA_CC_SAVING_CHECKPOINT_FILES_H_
#define PERSIA_CC_SAVING_CHECKPOINT_FILES_H_

#include "cc/base/status.h"
#include "cc/saving/checkpoints.h"
#include "cc/service/files_request.h"

namespace persia {

// Carries out `request` on files under options.root. Blocks for as long as the
// storage device takes. Thread-safe.
Status DoFiles(const CheckpointOptions& options, FilesRequest* request);

}  // namespace persia

#endif  // PERSIA_CC_SAVING_CHECKPOINT_FILES_H_
