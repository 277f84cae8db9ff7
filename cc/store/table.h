// Table: the rows of one embedding table (or of one shard's part of it).
//
// Batch-oriented: no call handles one id. Rows are contiguous (weights, then
// optimizer state) and never move once created.
//
// Thread-safe. Calls block only on the locks of the sub-shards that they
// touch, each held for one batch's share of ids; no call waits for a network or
// a disk. Concurrent updates of one row are applied one after the other; a
// lookup sees each row before or after an update, never in between.

#ifndef PERSIA_CC_STORE_TABLE_H_
#define PERSIA_CC_STORE_TABLE_H_

#include <cstdint>
#include <memory>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/store/table_config.h"

namespace persia {

struct TableStats {
  std::string name;
  uint32_t dim = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;                // Rows, state and index, as allocated.
  uint64_t rows_looked_up = 0;       // Ids of all lookups.
  uint64_t rows_updated = 0;         // Gradients applied.
  uint64_t nonfinite_gradients = 0;  // Gradients skipped: NaN or infinite.
  uint64_t absent_gradients = 0;     // Gradients skipped: no such row.
};

// What became of one Update's gradients.
struct UpdateCounts {
  uint64_t applied = 0;
  uint64_t nonfinite = 0;
  uint64_t absent = 0;
};

class Table {
 public:
  virtual ~Table() = default;

  virtual const TableConfig& config() const = 0;

  // Copies each id's weights to rows (ids.size() x dim). An absent id is
  // created, unless `read_only`: then it gets the default value, and nothing
  // in the table changes. Ids may repeat.
  virtual void Lookup(Span<const int64_t> ids, bool read_only,
                      Span<float> rows) = 0;

  // Applies to each id's row its gradient (ids.size() x dim). A gradient with a
  // NaN or an infinity, and one whose row is absent, is skipped alone and
  // counted; its neighbours are applied. Ids should be unique: a repeated one
  // is updated once for each of its places.
  virtual UpdateCounts Update(Span<const int64_t> ids,
                              Span<const float> gradients,
                              float learning_rate) = 0;

  virtual TableStats Stats() const = 0;
};

// InvalidArgument if `config` does not validate.
Result<std::unique_ptr<Table>> MakeTable(const TableConfig& config);

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_H_
