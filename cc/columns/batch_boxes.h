// Batch boxes: hand batches that pyarrow made to ops, without a copy. A program
// puts a batch into a box, and gives an op the batch's place; the op takes it.
//
// Thread-safe. No function blocks, but for the time of another's.

#ifndef PERSIA_CC_COLUMNS_BATCH_BOXES_H_
#define PERSIA_CC_COLUMNS_BATCH_BOXES_H_

#include <cstdint>
#include <memory>

#include "cc/base/export.h"
#include "cc/base/status.h"
#include "cc/columns/arrow_array.h"

namespace persia {

// Returns the number of a new box.
PERSIA_EXPORT int64_t OpenBatchBox();

// Returns the number of the batch within the box, from which it can be taken so
// many times. Returns kNotFound if the box is gone; the batch is freed then.
PERSIA_EXPORT Result<int64_t> PutBatch(int64_t box, HeldBatch batch,
                                       int64_t times);

// Returns a batch. Returns kNotFound if it was taken as often as it could be,
// or the box is gone.
PERSIA_EXPORT Result<std::shared_ptr<const HeldBatch>> TakeBatch(
    int64_t box, int64_t number);

// Says that no batch follows: the box is gone once nothing can be taken.
PERSIA_EXPORT void FinishBatchBox(int64_t box);

// Says that no op will ask for the batches in a box: frees them, and the box.
PERSIA_EXPORT void CloseBatchBox(int64_t box);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_BATCH_BOXES_H_
