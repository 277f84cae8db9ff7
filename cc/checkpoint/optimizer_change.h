// Changes a table's optimizer. This needs a new table, since each row has the
// optimizer's state next to its weights.

#ifndef PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_
#define PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_

#include <memory>

#include "cc/base/memory_meter.h"
#include "cc/base/spec.h"
#include "cc/base/status.h"
#include "cc/store/table.h"

namespace persia {

// Returns a table with the same settings and rows, but this optimizer. Rows
// keep their weights and their usage, and get the state of new rows. What the
// admission policy knows of ids without rows is lost. No other thread may
// change or freeze `table` meanwhile. InvalidArgument for an unknown optimizer.
// Throws as MakeTable and Restore do. Blocks for as long as it takes to copy
// the rows.
Result<std::shared_ptr<Table>> WithOptimizer(
    Table* table, const Spec& optimizer, std::shared_ptr<MemoryMeter> meter);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_
