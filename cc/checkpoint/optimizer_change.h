// WithOptimizer: changes a table's optimizer by copying the table. The copy is
// needed because each row stores its optimizer state next to its weights.

#ifndef PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_
#define PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_

#include <memory>

#include "cc/base/memory_meter.h"
#include "cc/base/spec.h"
#include "cc/base/status.h"
#include "cc/store/table.h"

namespace persia {

// Returns a table with the settings and rows of `table`, but with another
// optimizer. Each row keeps its weights and its usage, and gets the optimizer
// state of a new row. What the admission rule has recorded of ids without a row
// is lost. During the call no other thread may change or freeze `table`.
// Returns InvalidArgument for an unknown optimizer. Throws as MakeTable and
// Restore do. Blocks while it copies the rows.
Result<std::shared_ptr<Table>> WithOptimizer(
    Table* table, const Spec& optimizer, std::shared_ptr<MemoryMeter> meter);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_OPTIMIZER_CHANGE_H_
