// Gives a table another optimizer, which means to make it anew: rows have their
// optimizer's state beside their weights.

#ifndef PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_
#define PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_

#include <memory>

#include "cc/base/memory_meter.h"
#include "cc/base/spec.h"
#include "cc/base/status.h"
#include "cc/store/table.h"

namespace persia {

// A table of the same settings, with this optimizer, and the same rows. They
// keep their weights and how they were used, and their state is that of new
// rows. What admission knows of ids without rows begins anew. Nobody may change
// `table` meanwhile, or freeze it. InvalidArgument for an optimizer that there
// is not. Throws as MakeTable and Restore do. Blocks for as long as it takes to
// copy the rows.
Result<std::shared_ptr<Table>> WithOptimizer(
    Table* table, const Spec& optimizer, std::shared_ptr<MemoryMeter> meter);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_
