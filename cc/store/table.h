// Table: the rows of one embedding table (or of one shard's part of it).
//
// Batch-oriented: no call handles one id. A row's weights and its optimizer
// state are contiguous, and change together.
//
// Thread-safe. Calls block only on the locks of the sub-shards that they touch,
// each held for one batch's share of ids; no call waits for a network or a
// disk. Concurrent updates of one row are applied one after the other; a lookup
// sees each row before or after an update, never in between.

#ifndef PERSIA_CC_STORE_TABLE_H_
#define PERSIA_CC_STORE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/eviction.h"
#include "cc/store/table_config.h"
#include "cc/store/table_identity.h"

namespace persia {

struct TableStats {
  std::string name;
  uint32_t dim = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;        // Rows, state and index, as allocated.
  uint64_t index_slots = 0;  // The number of rows that the index has slots for.
  uint64_t rows_looked_up = 0;       // Ids in all lookups.
  uint64_t rows_found = 0;           // Those of them that had a row.
  uint64_t rows_updated = 0;         // Gradients applied.
  uint64_t nonfinite_gradients = 0;  // Gradients skipped: NaN or infinite.
  uint64_t absent_gradients = 0;     // Gradients skipped: no such row.
  uint64_t evictions = 0;            // Rows that expired or were evicted.
  uint64_t refused = 0;              // Ids in lookups that admission refused.
};

// What happened to the gradients of one Update.
struct UpdateCounts {
  uint64_t applied = 0;
  uint64_t nonfinite = 0;
  uint64_t absent = 0;

  UpdateCounts& operator+=(const UpdateCounts& other) {
    applied += other.applied;
    nonfinite += other.nonfinite;
    absent += other.absent;
    return *this;
  }
};

// A row that was created, with its initial value, or removed. In a list of
// changes, those of one id are in the order in which they happened.
struct RowChange {
  int64_t id;
  bool created;
};
using RowChanges = std::vector<RowChange>;

// How a row was used: the time since the last training lookup of it (in steps,
// 1 means the table's last training lookup), and the number of such lookups. An
// Assign counts as one.
struct RowUsage {
  uint32_t age;
  uint32_t count;
};

// Rows from Export, in no order: weights are ids.size() x dim, state is
// ids.size() x state_size, both row-major. `uses` has an entry for each id, or
// none if the table has no RowUse.
struct RowPage {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  std::vector<float> state;
  std::vector<RowUsage> uses;
  UseTime use_time = UseTime::kNone;  // The unit of their ages.
};

// Rows in the table's own layout: row_bytes each, see RowLayout.
struct RawRows {
  std::vector<int64_t> ids;
  std::vector<std::byte> bytes;

  void clear() {
    ids.clear();
    bytes.clear();
  }
};

// Where the parts of a row are: see RowFormat. Offsets and sizes are in bytes.
struct RowLayout {
  size_t row_bytes;
  size_t use_offset;
  size_t state_offset;
};

// What a lookup that creates no rows returns for an id without a row. The
// numbers are part of the protocol: never renumber.
enum class AbsentRows : uint32_t {
  kDefault = 0,  // The table's default value.
  kInitial = 1,  // The initial value of the id's row, not rounded.
  kMarked = 2,   // NaN, which no row has: the caller fills in.
};

// What a save contains: all rows of a table, or those that changed since the
// last committed save.
enum class SaveScope : uint32_t { kWhole = 0, kChanges = 1 };

// What a feed of a table starts with.
enum class FeedStart {
  kAllRows,
  kLastSave,  // What changed since the last committed save.
  kNow,       // Nothing; it has only later changes.
};

// A snapshot of a table's rows at one moment, while the table stays in use. It
// shares ownership of the table. Not thread-safe.
class FrozenRows {
 public:
  // Ends the snapshot, so that the table stops preserving old rows.
  virtual ~FrozenRows() = default;

  // Appends about `count` of the rows not read yet; false once there are no
  // more. Each row is read once, with weights and state of the same moment;
  // only its RowUse may be newer. Blocks as a lookup does. kResourceExhausted
  // if there was no memory to preserve rows that changed meanwhile; the table
  // itself is not affected.
  virtual Result<bool> Read(size_t count, RawRows* rows) = 0;

  // Only for a snapshot of changes: appends some of the ids that have lost
  // their rows; false once there are no more. Some may be ids whose rows were
  // created and removed since the last save. Must not be called after another
  // save has begun.
  virtual bool ReadErased(std::vector<int64_t>* ids) = 0;

  // About how many rows Read returns in all.
  virtual uint64_t about() const = 0;
};

// Changes for a follower of a table. Each id occurs once: in `ids`, with its
// weights (ids.size() x dim, row-major), or in `erased`, if it has no row.
struct RowDelta {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  std::vector<int64_t> erased;

  size_t size() const { return ids.size() + erased.size(); }
};

// The changes of a table, for a follower: every id whose row was set, trained,
// created or removed, with its weights as they are when it is read. Only ids
// are stored, so a row that changed ten times is reported once. It shares
// ownership of the table. Not thread-safe, but the table may be used
// concurrently.
class RowFeed {
 public:
  // Ends the feed, so that the table stops recording for it.
  virtual ~RowFeed() = default;

  // Appends about `count` of the changed ids that were not reported yet. False
  // if none are left: all changes before the call have been reported. Blocks as
  // a lookup does. Throws std::bad_alloc; the feed is then unusable.
  virtual bool Take(size_t count, RowDelta* delta) = 0;

  // Appends the current rows of `ids`, which must be unique. Does not affect
  // what Take returns.
  virtual void Read(Span<const int64_t> ids, RowDelta* delta) = 0;

  // Whether the feed is unusable: there was no memory to record a change, or so
  // many ids changed that a new feed is cheaper.
  virtual bool lost() const = 0;
};

// Every table is created by MakeTable, as a shared_ptr, so that it can be
// shared.
class Table : public std::enable_shared_from_this<Table> {
 public:
  // The cursors at the begin and at the end of an export.
  static constexpr uint64_t kBegin = 0;
  static constexpr uint64_t kEnd = ~uint64_t{0};

  virtual ~Table() = default;

  virtual const TableConfig& config() const = 0;

  // Number of float32 values of optimizer state per row.
  virtual size_t state_size() const = 0;

  // Copies each id's weights to `rows` (ids.size() x dim). Ids may repeat.
  // A training lookup creates the rows of absent ids that admission allows; the
  // others get their initial values. Then it evicts rows beyond the capacity.
  // Rows that were created and removed are appended to `changes`, unless that
  // is null, even if the call throws. Throws MemoryLimitReached if the table's
  // meter has no room for new rows and the table does not evict, or has nothing
  // left to evict. Rows created by then stay, as if their ids had been looked
  // up alone.
  // If `read_only`, absent ids get what `absent` says and nothing in the table
  // changes; returns whether rows were treated as absent because they have
  // expired.
  virtual bool Lookup(Span<const int64_t> ids, bool read_only, Span<float> rows,
                      RowChanges* changes = nullptr,
                      AbsentRows absent = AbsentRows::kDefault) = 0;

  // A training lookup in two parts. The first part handles the ids that have a
  // row, and creates and removes none. Appends the places of the other ids to
  // `absent`, and leaves these places of `rows` unchanged. Returns the lookup's
  // time, in RowUse's unit.
  virtual uint32_t LookupPresent(Span<const int64_t> ids, Span<float> rows,
                                 std::vector<uint32_t>* absent) = 0;
  // The second part handles the other ids, as Lookup does.
  virtual void LookupAbsent(Span<const int64_t> ids, uint32_t time,
                            Span<float> rows, RowChanges* changes) = 0;

  // Applies each gradient (ids.size() x dim) to its id's row. Skips and counts
  // a gradient with a NaN or an infinity, and one whose row is absent; the
  // others are applied. Ids should be unique: the row of a repeated id is
  // updated once for each of its gradients.
  virtual UpdateCounts Update(Span<const int64_t> ids,
                              Span<const float> gradients,
                              OptimizerStep step) = 0;

  // Sets rows to `weights` (ids.size() x dim), creating absent ones without
  // asking admission. Their state becomes `state` (ids.size() x state_size()),
  // or that of a new row if `state` is empty. Then evicts as Lookup does, and
  // appends the rows that this removed to `changes`.
  virtual void Assign(Span<const int64_t> ids, Span<const float> weights,
                      Span<const float> state,
                      RowChanges* changes = nullptr) = 0;

  // Creates the rows of absent ids, without asking admission. Evicts only at
  // the memory limit. `changes` and exceptions are as in Lookup.
  virtual void Create(Span<const int64_t> ids,
                      RowChanges* changes = nullptr) = 0;

  // Removes the rows of `ids`; returns how many rows that were.
  virtual uint64_t Remove(Span<const int64_t> ids) = 0;

  // Fills `page` with about `max_rows` of the rows not exported yet, and
  // returns the cursor to continue from: kEnd when there are no more. A row
  // that exists from the first call to the last is exported once, whatever
  // happens to others meanwhile.
  virtual uint64_t Export(uint64_t cursor, size_t max_rows,
                          RowPage* page) const = 0;

  // Whether an export of this table may continue from the cursor. The order of
  // rows differs from table to table, even if one replaces another.
  virtual bool CanExportFrom(uint64_t cursor) const = 0;

  // A snapshot of the rows: consistent between two requests if no training
  // lookup, update or other change runs concurrently. Several snapshots may
  // exist; each costs memory for the rows that change before it has read them.
  virtual Result<std::unique_ptr<FrozenRows>> Freeze() = 0;

  // The same, and begins a save of `scope`. From now on the table records which
  // rows change, until the next save begins. The save contains the changes
  // since the last committed save; unless it is committed, the next one
  // contains them again. Recording costs a bit per row, and about 20 bytes per
  // id that loses its row. kFailedPrecondition if the FrozenRows of an earlier
  // save still exist, or for kChanges if the changes are not known.
  virtual Result<std::unique_ptr<FrozenRows>> FreezeToSave(SaveScope scope) = 0;

  // Declares that the save begun last can be restored from now on. Does nothing
  // if none was begun.
  virtual void CommitSave() = 0;

  // Whether a save was committed, so that changes since then can be saved.
  virtual bool was_saved() const = 0;

  // Whether there was no memory to record all changes since that save.
  virtual bool lost_changes() const = 0;

  // Starts a feed of changes. kFailedPrecondition if the changes since a save
  // are not known. While there is a feed, recording costs a bit per row and 8
  // bytes per changed id that was not taken yet.
  virtual Result<std::unique_ptr<RowFeed>> Follow(FeedStart start) = 0;

  virtual RowLayout layout() const = 0;

  // Whether rows expire.
  virtual bool expires() const = 0;

  // The current time in RowUse's unit; 0 when the table is created.
  virtual uint32_t time() const = 0;

  // SetTime and NoteUses replay what was recorded of a table, which nothing
  // else may use meanwhile. SetTime sets the current time to `now`; RowUses do
  // not change.
  virtual void SetTime(uint32_t now) = 0;
  // Replays a training lookup of these ids at `time`: notes a use of each row
  // that exists and has not expired.
  virtual void NoteUses(Span<const int64_t> ids, uint32_t time) = 0;

  // Sets whole rows, in this table's layout, creating absent ones without
  // asking admission. Then evicts as Lookup does.
  virtual void Restore(const RawRows& rows) = 0;

  // Whether calls evict rows beyond the capacity and sweep expired ones; by
  // default they do.
  virtual void SetEvicts(bool evicts) = 0;

  // For each sub-shard, the number of rows that were rounded at random. With
  // the rows, it determines how later updates round. The length is always the
  // same.
  virtual std::vector<uint64_t> Rounded() const = 0;
  virtual void SetRounded(Span<const uint64_t> counts) = 0;

  virtual TableStats Stats() const = 0;

  // Set by the code that creates tables. Not thread-safe: SetIdentity must not
  // run concurrently with these two.
  const TableIdentity& identity() const { return identity_; }
  void SetIdentity(const TableIdentity& identity) { identity_ = identity; }

 private:
  TableIdentity identity_;
};

// The layout of a table's rows. InvalidArgument if `config` does not validate.
Result<RowLayout> LayoutOf(const TableConfig& config);

// The time in seconds since any fixed moment, for rows that expire by seconds.
using SecondsClock = std::function<double()>;

// InvalidArgument if `config` does not validate. If `seconds` is null, the
// machine's steady clock is used. `meter`, unless null, counts rows, state,
// index, the admission rule's memory, and what a table takes without rows.
// Throws std::bad_alloc.
Result<std::shared_ptr<Table>> MakeTable(
    const TableConfig& config, SecondsClock seconds = nullptr,
    std::shared_ptr<MemoryMeter> meter = nullptr);

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_H_
