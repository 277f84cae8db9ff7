// Table: the rows of one embedding table (or of one shard's part of it).
//
// The functions are made for batches: none handles a single id. A row's weights
// and its optimizer state are contiguous, and change together.
//
// Thread-safe. Calls block only on the locks of the sub-shards that they touch.
// Each lock is held for one batch's share of ids; no call waits for a network
// or a disk. Concurrent updates of one row are applied one after the other; a
// lookup sees each row before or after an update, never in between.

#ifndef PERSIA_CC_STORE_TABLE_H_
#define PERSIA_CC_STORE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/memory_meter.h"
#include "cc/base/slot_set.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/eviction.h"
#include "cc/store/table_config.h"

namespace persia {

// Identifies one creation of a table. The shards of a cluster compare it to
// tell whether their parts of a table belong together.
struct TableIdentity {
  // A random number, drawn when the table is created and the same on all
  // shards. A restore assigns a new number. 0 means that the number is not
  // known.
  uint64_t number = 0;
  // Whether all shards have had their parts of the table at the same time. No
  // trainer uses the table before that, so an incomplete table has no trained
  // rows.
  bool is_complete = true;
};

inline bool operator==(const TableIdentity& a, const TableIdentity& b) {
  return a.number == b.number && a.is_complete == b.is_complete;
}

#define PERSIA_TABLE_COUNTERS(COUNTER)                                        \
  COUNTER(rows)                                                               \
  COUNTER(bytes)       /* Rows, state and index, as allocated. */             \
  COUNTER(index_slots) /* The number of rows that the index has slots for. */ \
  COUNTER(rows_looked_up)      /* Ids in all lookups. */                      \
  COUNTER(rows_found)          /* Those of them that had a row. */            \
  COUNTER(rows_updated)        /* Gradients applied. */                       \
  COUNTER(nonfinite_gradients) /* Gradients skipped: NaN or infinite. */      \
  COUNTER(absent_gradients)    /* Gradients skipped: no such row. */          \
  COUNTER(evictions)           /* Rows that expired or were evicted. */       \
  COUNTER(refused)             /* Looked-up ids that admission refused. */

struct TableStats {
  std::string name;
  uint32_t dim = 0;
  PERSIA_COUNTERS(PERSIA_TABLE_COUNTERS)
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

// A row that was created with its initial value, or removed. A list of changes
// has the changes of one id in the order in which they happened.
struct RowChange {
  int64_t id;
  bool created;
};
using RowChanges = std::vector<RowChange>;

// How a row was used. `age` is the time since the row's last training lookup;
// in steps, 1 means that the table's last training lookup used the row. `count`
// is the number of the row's training lookups. An Assign counts as a training
// lookup.
struct RowUsage {
  uint32_t age;
  uint32_t count;
};

// Rows from Export, in no particular order. `weights` are ids.size() x dim,
// `state` is ids.size() x state_size, both row-major. `uses` has an entry for
// each id, or none if the table has no RowUse.
struct RowPage {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  std::vector<float> state;
  std::vector<RowUsage> uses;
  UseTime use_time = UseTime::kNone;  // The unit of the ages in `uses`.
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
  kMarked = 2,   // NaN, which no row has: the caller must replace it.
};

// What a save contains: all rows of a table, or those that changed since the
// last committed save.
enum class SaveScope : uint32_t { kWhole = 0, kChanges = 1 };

// The rows that a feed of a table reports first.
enum class FeedStart {
  kAllRows,
  kLastSave,  // Rows that changed since the last committed save.
  kNow,       // No rows; the feed reports only later changes.
};

// A snapshot of a table's rows at one moment, while the table stays in use. It
// shares ownership of the table. Not thread-safe.
class FrozenRows {
 public:
  // Ends the snapshot, so that the table stops preserving old rows.
  virtual ~FrozenRows() = default;

  // Appends about `count` of the rows that were not read yet; returns false
  // once there are no more. Each row is read once, with weights and state of
  // the same moment; only its RowUse may be newer. Blocks as a lookup does.
  // Returns kResourceExhausted if there was no memory to preserve rows that
  // changed meanwhile; the table itself is not affected.
  virtual Result<bool> Read(size_t count, RawRows* rows) = 0;

  // Only for a snapshot of changes. Appends some of the ids that have lost
  // their rows; returns false once there are no more. Among them may be ids
  // whose rows were both created and removed since the last save. Must not be
  // called after another save has begun.
  virtual bool ReadErased(std::vector<int64_t>* ids) = 0;

  // About how many rows Read returns in all.
  virtual uint64_t about() const = 0;
};

// What a feed reports of which rows.
struct FeedForm {
  // Whether rows are reported as RawRows has them, rather than by their
  // weights.
  bool whole = false;
  // The slots whose rows are reported; null for all.
  std::shared_ptr<const SlotSet> slots;

  bool Has(int64_t id) const {
    return slots == nullptr || (*slots)[SlotOf(id)];
  }
};

// Changes for a follower of a table. Each id occurs once: in `ids`, with its
// weights (ids.size() x dim, row-major) or, in a feed of whole rows, with its
// bytes (see RawRows); or in `erased`, if it has no row.
struct RowDelta {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  std::vector<int64_t> erased;
  std::vector<std::byte> bytes{};

  size_t size() const { return ids.size() + erased.size(); }
};

// A feed reports the changes of a table to a follower: every id whose row was
// set, trained, created or removed, with the weights that the row has when it
// is read. A feed stores only ids, so a row that changed ten times is reported
// once. A feed shares ownership of the table. Not thread-safe, but the table
// may be used concurrently.
class RowFeed {
 public:
  // Ends the feed, so that the table stops recording changes for it.
  virtual ~RowFeed() = default;

  // Appends about `count` of the changed ids that were not reported yet.
  // Returns false if none are left: all changes before the call have then been
  // reported. Blocks as a lookup does. Throws std::bad_alloc; the feed is then
  // unusable.
  virtual bool Take(size_t count, RowDelta* delta) = 0;

  // From now on reports rows of `slots` only, null for all, and reports all
  // rows of `gained`, some of these slots, once more.
  virtual void UseSlots(std::shared_ptr<const SlotSet> slots,
                        const SlotSet& gained) = 0;

  // Appends the current rows of `ids`, which must be unique. Does not affect
  // what Take returns.
  virtual void Read(Span<const int64_t> ids, RowDelta* delta) = 0;

  // Whether all rows that the feed reports first were reported, those of slots
  // that it has gained included.
  virtual bool only_changes() const = 0;

  // Whether the feed is unusable: there was no memory to record a change, or so
  // many ids changed that a new feed is cheaper.
  virtual bool lost() const = 0;
};

// Every table is created by MakeTable, as a shared_ptr, since snapshots and
// feeds share ownership of it.
class Table : public std::enable_shared_from_this<Table> {
 public:
  // The cursors at the beginning and at the end of an export.
  static constexpr uint64_t kBegin = 0;
  static constexpr uint64_t kEnd = ~uint64_t{0};

  virtual ~Table() = default;

  virtual const TableConfig& config() const = 0;

  // Number of float32 values of optimizer state per row.
  virtual size_t state_size() const = 0;

  // Copies each id's weights to `rows` (ids.size() x dim). Ids may repeat.
  //
  // If `read_only`, nothing in the table changes, and absent ids get the values
  // that `absent` selects. Returns whether any row was treated as absent
  // because it has expired.
  //
  // Otherwise this is a training lookup, which returns false. It creates rows
  // for those absent ids that admission allows; the other absent ids get their
  // initial values. Then it evicts rows beyond the capacity. It appends the
  // rows that it created and removed to `changes`, unless that is null, even if
  // it throws. It throws MemoryLimitReached if the table's meter has no room
  // for new rows and the table does not evict, or has nothing left to evict.
  // The rows created until then stay, as if their ids had been looked up alone.
  virtual bool Lookup(Span<const int64_t> ids, bool read_only, Span<float> rows,
                      RowChanges* changes = nullptr,
                      AbsentRows absent = AbsentRows::kDefault) = 0;

  // LookupPresent and LookupAbsent are the two parts of a training lookup. The
  // first part handles the ids that have a row; it neither creates nor removes
  // rows. It appends the places of the other ids to `absent`, and leaves these
  // places of `rows` unchanged. It returns the lookup's time, in RowUse's unit.
  virtual uint32_t LookupPresent(Span<const int64_t> ids, Span<float> rows,
                                 std::vector<uint32_t>* absent) = 0;
  // The second part of a training lookup handles the ids that LookupPresent
  // found absent, as Lookup does. `time` is the result of LookupPresent.
  virtual void LookupAbsent(Span<const int64_t> ids, uint32_t time,
                            Span<float> rows, RowChanges* changes) = 0;

  // Applies each gradient (ids.size() x dim) to its id's row. If a gradient has
  // a NaN or an infinity, or its row is absent, skips and counts it, and
  // applies the others. Ids should be unique: the row of a repeated id is
  // updated once for each of its gradients.
  virtual UpdateCounts Update(Span<const int64_t> ids,
                              Span<const float> gradients,
                              OptimizerStep step) = 0;

  // Sets the weights of rows to `weights` (ids.size() x dim). Creates absent
  // rows, even if admission would refuse their ids. The state of the rows
  // becomes `state` (ids.size() x state_size()), or the initial state if
  // `state` is empty. Then evicts as Lookup does, and appends the evicted rows
  // to `changes`.
  virtual void Assign(Span<const int64_t> ids, Span<const float> weights,
                      Span<const float> state,
                      RowChanges* changes = nullptr) = 0;

  // Creates the rows of absent ids, even if admission would refuse the ids.
  // Evicts only at the memory limit. `changes` and exceptions are as in Lookup.
  virtual void Create(Span<const int64_t> ids,
                      RowChanges* changes = nullptr) = 0;

  // Removes the rows of `ids`; returns the number of rows removed.
  virtual uint64_t Remove(Span<const int64_t> ids) = 0;

  // Removes all rows of these slots, which the shard does not own; returns the
  // number of rows removed. Walks over all rows of the table. Feeds do not
  // tell of it.
  virtual uint64_t RemoveSlots(const SlotSet& slots) = 0;

  // Fills `page` with about `max_rows` of the rows that were not exported yet.
  // Returns the cursor from which the next call continues, or kEnd when no rows
  // are left. A row that exists from the first call to the last is exported
  // once, whatever happens to other rows meanwhile.
  virtual uint64_t Export(uint64_t cursor, size_t max_rows,
                          RowPage* page) const = 0;

  // Whether an export of this table may continue from `cursor`. The cursor must
  // come from the same table: the order of rows differs from table to table,
  // even if one table replaces another.
  virtual bool CanExportFrom(uint64_t cursor) const = 0;

  // Makes a snapshot of the rows. It is consistent, as of a moment between two
  // requests, if no training lookup, update or other change runs concurrently
  // with Freeze. Several snapshots may exist; each needs memory for the rows
  // that change before the snapshot has read them.
  virtual Result<std::unique_ptr<FrozenRows>> Freeze() = 0;

  // Makes a snapshot as Freeze does, and begins a save of `scope`. With
  // kChanges, the save contains what changed since the last committed save; if
  // this save is not committed, the next one contains these changes too. From
  // now on, until the next save begins, the table records which rows change.
  //
  // Recording costs a bit per row, and about 20 bytes per id that loses its
  // row. Returns kFailedPrecondition if the FrozenRows of an earlier save still
  // exist, or if `scope` is kChanges and the changes are not known.
  virtual Result<std::unique_ptr<FrozenRows>> FreezeToSave(SaveScope scope) = 0;

  // Declares that the save that was begun last can be restored from now on.
  // Does nothing if no save was begun.
  virtual void CommitSave() = 0;

  // Whether a save was committed, so that changes since then can be saved.
  virtual bool was_saved() const = 0;

  // Whether some changes since the last committed save were not recorded, for
  // lack of memory.
  virtual bool lost_changes() const = 0;

  // Starts a feed of changes. Returns kFailedPrecondition if `start` is
  // kLastSave and the changes since that save are not known. While the feed
  // exists, recording costs a bit per row, and 8 bytes per changed id that the
  // feed has not reported yet.
  virtual Result<std::unique_ptr<RowFeed>> Follow(
      FeedStart start, const FeedForm& form = {}) = 0;

  virtual RowLayout layout() const = 0;

  // Whether rows expire.
  virtual bool expires() const = 0;

  // The current time in RowUse's unit; 0 when the table is created.
  virtual uint32_t time() const = 0;

  // SetTime and NoteUses replay what a recovery log or a checkpoint recorded of
  // a table. No other code may use the table meanwhile. SetTime sets the
  // current time to `now`, and does not change the RowUse of any row.
  virtual void SetTime(uint32_t now) = 0;
  // Replays a training lookup of these ids at `time`: notes a use of each row
  // that exists and has not expired.
  virtual void NoteUses(Span<const int64_t> ids, uint32_t time) = 0;

  // Sets whole rows, in this table's layout. Creates absent rows, even if
  // admission would refuse their ids. Then evicts as Lookup does.
  // Appends the evicted rows to `changes`.
  virtual void Restore(const RawRows& rows, RowChanges* changes = nullptr) = 0;

  // Does what Restore does, at the memory limit too: evicts rows to make room,
  // as Lookup does, or throws MemoryLimitReached. Appends the rows that it
  // created and removed to `changes`, even if it throws; the rows that were
  // set until then stay.
  virtual void Place(const RawRows& rows, RowChanges* changes = nullptr) = 0;

  // Sets whether calls evict rows beyond the capacity and sweep expired ones.
  // By default they do.
  virtual void SetEvicts(bool evicts) = 0;

  // The number of slots, of all kSlots, whose rows this table is to hold: its
  // capacity is this part of the table's over all shards. A table that gets
  // another share evicts in later calls, as Lookup does, what exceeds it; its
  // admission rule stays that of the share with which it was made.
  virtual uint32_t share() const = 0;
  virtual void SetShare(uint32_t slots) = 0;

  // Returns for each sub-shard how many times a row was rounded at random.
  // These numbers and the rows determine how later updates round. The length of
  // the vector is always the same.
  virtual std::vector<uint64_t> Rounded() const = 0;
  virtual void SetRounded(Span<const uint64_t> counts) = 0;

  virtual TableStats Stats() const = 0;

  // The identity is set by the code that creates tables. Not thread-safe: no
  // call of identity or SetIdentity may run concurrently with SetIdentity.
  const TableIdentity& identity() const { return identity_; }
  void SetIdentity(const TableIdentity& identity) { identity_ = identity; }

 private:
  TableIdentity identity_;
};

// The layout of a table's rows. InvalidArgument if `config` does not validate.
Result<RowLayout> LayoutOf(const TableConfig& config);

// A clock for rows that expire by seconds: returns the seconds since any fixed
// moment.
using SecondsClock = std::function<double()>;

// Makes a table without rows, whose share is `slots`: see Table::SetShare.
// Returns InvalidArgument if `config` is not valid. If `seconds` is null, the
// table uses the machine's steady clock. `meter`, unless null, counts all of
// the table's memory: rows, state, index and admission rule, and what the table
// takes without rows. Throws std::bad_alloc.
Result<std::shared_ptr<Table>> MakeTable(
    const TableConfig& config, SecondsClock seconds = nullptr,
    std::shared_ptr<MemoryMeter> meter = nullptr, uint32_t slots = kSlots);

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_H_
