// Table: the rows of one embedding table (or of one shard's part of it).
//
// Batch-oriented: no call handles one id. A row's weights and its optimizer
// state are contiguous, so they live and change together.
//
// Thread-safe. Calls block only on the locks of the sub-shards that they
// touch, each held for one batch's share of ids; no call waits for a network or
// a disk. Concurrent updates of one row are applied one after the other; a
// lookup sees each row before or after an update, never in between.

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
  uint64_t bytes = 0;                // Rows, state and index, as allocated.
  uint64_t index_slots = 0;          // Rows that the index has places for.
  uint64_t rows_looked_up = 0;       // Ids of all lookups.
  uint64_t rows_found = 0;           // Of those, the ids that had a row.
  uint64_t rows_updated = 0;         // Gradients applied.
  uint64_t nonfinite_gradients = 0;  // Gradients skipped: NaN or infinite.
  uint64_t absent_gradients = 0;     // Gradients skipped: no such row.
  uint64_t evictions = 0;            // Rows that eviction took.
  uint64_t refused = 0;              // Ids of lookups that admission refused.
};

// What became of one Update's gradients.
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

// A row that came, with its initial value, or left. In a list of them, those of
// one id are in their order.
struct RowChange {
  int64_t id;
  bool created;
};
using RowChanges = std::vector<RowChange>;

// How a row was used: how long ago a training lookup asked for it last (in
// steps, 1: the last one did), and how many did. An Assign counts as one.
struct RowUsage {
  uint32_t age;
  uint32_t count;
};

// Rows as Export gives them, in no order: weights are ids.size() x dim, state
// ids.size() x state_size, row-major. There is a use for each id, unless the
// table notes none: see RowUse.
struct RowPage {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  std::vector<float> state;
  std::vector<RowUsage> uses;
  UseTime use_time = UseTime::kNone;  // Of their ages.
};

// Rows as the table holds them: row_bytes each, see RowLayout.
struct RawRows {
  std::vector<int64_t> ids;
  std::vector<std::byte> bytes;

  void clear() {
    ids.clear();
    bytes.clear();
  }
};

// Where in a row what is: see RowFormat. Offsets and sizes in bytes.
struct RowLayout {
  size_t row_bytes;
  size_t use_offset;
  size_t state_offset;
};

// What a lookup that creates nothing gives for an id without a row. The numbers
// are part of the protocol: never renumber.
enum class AbsentRows : uint32_t {
  kDefault = 0,  // The table's default value.
  kInitial = 1,  // What a new row of the id would hold, before it is rounded.
  kMarked = 2,   // NaN, which no row holds: for who knows what to put there.
};

// What a save is of: all rows of a table, or those that changed since the last
// save that was committed.
enum class SaveScope : uint32_t { kWhole = 0, kChanges = 1 };

// What a feed of a table begins with.
enum class FeedStart {
  kAllRows,
  kLastSave,  // What changed since the save that was committed last.
  kNow,       // Nothing: what changes from now on.
};

// A table's rows as they were at one moment, while the table is in use. It
// shares the table, which so lives at least as long. Not thread-safe.
class FrozenRows {
 public:
  // Lets the table forget them.
  virtual ~FrozenRows() = default;

  // Appends some rows, about `count`, of those not yet read; false once there
  // are no more. Each row is read once, with the state that it had with its
  // weights; but when it was last looked up may be newer. Blocks as a lookup
  // does. kResourceExhausted if there was no memory to keep rows that changed
  // meanwhile; the table itself went on.
  virtual Result<bool> Read(size_t count, RawRows* rows) = 0;

  // Of changes: appends some of the ids that have lost their rows; false once
  // there are no more. Some may be of rows that were made and lost since the
  // last save. Not once another save was begun.
  virtual bool ReadErased(std::vector<int64_t>* ids) = 0;

  // About how many rows Read gives in all.
  virtual uint64_t about() const = 0;
};

// What a follower of a table is told: each id once, in `ids` with its weights
// (ids.size() x dim, row-major) or in `erased`, if it has no row.
struct RowDelta {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  std::vector<int64_t> erased;

  size_t size() const { return ids.size() + erased.size(); }
};

// What changes in a table, for one who follows it: every id whose row is set,
// trained, made or lost, each as it is when it is taken. Nothing is kept but
// ids, so what changed ten times is told once. It shares the table, which so
// lives at least as long. Not thread-safe, but the table is used meanwhile.
class RowFeed {
 public:
  // Lets the table forget it.
  virtual ~RowFeed() = default;

  // Appends some of what was not yet told, about `count` ids. False if nothing
  // was left then: all is told that changed before the call. Blocks as a lookup
  // does. Throws std::bad_alloc; the feed is then of no more use.
  virtual bool Take(size_t count, RowDelta* delta) = 0;

  // Appends these ids, each given once, as they are now. Whatever Take would
  // give it still gives.
  virtual void Read(Span<const int64_t> ids, RowDelta* delta) = 0;

  // There was no memory to note what changed, or so much that to begin anew is
  // less: the feed is of no more use.
  virtual bool lost() const = 0;
};

// MakeTable makes all tables, so each has an owner to share it with.
class Table : public std::enable_shared_from_this<Table> {
 public:
  // Where an export begins, and what it returns when it is over.
  static constexpr uint64_t kBegin = 0;
  static constexpr uint64_t kEnd = ~uint64_t{0};

  virtual ~Table() = default;

  virtual const TableConfig& config() const = 0;

  // Number of float32 of optimizer state a row.
  virtual size_t state_size() const = 0;

  // Copies each id's weights to rows (ids.size() x dim). An absent id is
  // created if admission lets it in, and otherwise gets its initial value; if
  // `read_only`, it gets what `absent` says, and nothing in the table changes.
  // Ids may repeat. Then evicts what the table holds beyond its capacity. Rows
  // that it created and removed are added to `changes`, if that is not null,
  // also when it throws: MemoryLimitReached where the table's meter has no room
  // for new rows and it does not evict, or has nothing left to. Rows that were
  // created by then stay, each whole, as if their ids had come alone. Returns
  // whether it took rows for absent since their time is over, if `read_only`.
  virtual bool Lookup(Span<const int64_t> ids, bool read_only, Span<float> rows,
                      RowChanges* changes = nullptr,
                      AbsentRows absent = AbsentRows::kDefault) = 0;

  // A training lookup in two parts. The first is of those ids that have a row:
  // creates and removes none. Adds the places of the other ids to `absent`, and
  // leaves their rows as they were. Returns its time, as RowUse counts it.
  virtual uint32_t LookupPresent(Span<const int64_t> ids, Span<float> rows,
                                 std::vector<uint32_t>* absent) = 0;
  // The second is of these other ids, and as Lookup.
  virtual void LookupAbsent(Span<const int64_t> ids, uint32_t time,
                            Span<float> rows, RowChanges* changes) = 0;

  // Applies to each id's row its gradient (ids.size() x dim). A gradient with a
  // NaN or an infinity, and one whose row is absent, is skipped alone and
  // counted; its neighbours are applied. Ids should be unique: a repeated one
  // is updated once for each of its places.
  virtual UpdateCounts Update(Span<const int64_t> ids,
                              Span<const float> gradients,
                              OptimizerStep step) = 0;

  // Sets rows to `weights` (ids.size() x dim), creating those that are absent
  // whatever admission says. Their state becomes `state` (ids.size() x
  // state_size()), or a new row's if that is empty. Then evicts as Lookup does;
  // `changes` gets what that removed.
  virtual void Assign(Span<const int64_t> ids, Span<const float> weights,
                      Span<const float> state,
                      RowChanges* changes = nullptr) = 0;

  // Creates the rows of those ids that have none, whatever admission says.
  // Evicts nothing, but for the memory limit. `changes` and what it throws are
  // as in Lookup.
  virtual void Create(Span<const int64_t> ids,
                      RowChanges* changes = nullptr) = 0;

  // Removes the rows of `ids`; returns how many there were.
  virtual uint64_t Remove(Span<const int64_t> ids) = 0;

  // Fills `page` with some rows, about `max_rows`, of those not yet exported,
  // and returns the cursor to go on from: kEnd when there are no more. A row
  // that is there from the first call to the last is exported once, whatever
  // happens to others meanwhile.
  virtual uint64_t Export(uint64_t cursor, size_t max_rows,
                          RowPage* page) const = 0;

  // Whether an export of this table may go on from the cursor. Each table has
  // its rows in an order of its own, also one that takes the place of another.
  virtual bool CanExportFrom(uint64_t cursor) const = 0;

  // The rows as they are now: between two requests, if no lookup that trains,
  // no update and no other change runs meanwhile. There may be several, each
  // with the rows of its own moment: what changes before one has read it costs
  // memory for each.
  virtual Result<std::unique_ptr<FrozenRows>> Freeze() = 0;

  // The same, and begins a save of `scope`: notes from now on which rows
  // change, until the next one begins. What changed before, since the last save
  // that was committed, this one has; unless it is committed, the next one has
  // it again. Costs a bit a row and some 20 bytes an id that loses its row.
  // kFailedPrecondition if an earlier save's has not ended, and for changes
  // that are not known.
  virtual Result<std::unique_ptr<FrozenRows>> FreezeToSave(SaveScope scope) = 0;

  // The save that was begun last can be restored from now on. Does nothing if
  // none was begun.
  virtual void CommitSave() = 0;

  // Whether a save was committed, of all that the table held then.
  virtual bool was_saved() const = 0;

  // Of one that was: there was no memory to note what changed since.
  virtual bool lost_changes() const = 0;

  // kFailedPrecondition if what changed since a save is not known. While there
  // is a feed, to change a row costs a bit a row and 8 bytes for each that was
  // not taken yet.
  virtual Result<std::unique_ptr<RowFeed>> Follow(FeedStart start) = 0;

  virtual RowLayout layout() const = 0;

  // Whether rows leave once their time is over.
  virtual bool expires() const = 0;

  // Now, as RowUse counts it: from 0 on, when the table is made.
  virtual uint32_t time() const = 0;

  // These do again what is told of a table, which nobody else uses. It is
  // `now`; rows were used when they were.
  virtual void SetTime(uint32_t now) = 0;
  // A training lookup asked for these ids at `time`, and found the rows of
  // those that have one whose time was not over.
  virtual void NoteUses(Span<const int64_t> ids, uint32_t time) = 0;

  // Sets whole rows, in this table's layout, creating those that are absent
  // whatever admission says. Then evicts as Lookup does.
  virtual void Restore(const RawRows& rows) = 0;

  // Whether rows leave by themselves, as they do unless this says otherwise.
  virtual void SetEvicts(bool evicts) = 0;

  // How many rows of each part of the table were rounded at random: with the
  // rows, this makes what later updates do the same. As many numbers always.
  virtual std::vector<uint64_t> Rounded() const = 0;
  virtual void SetRounded(Span<const uint64_t> counts) = 0;

  virtual TableStats Stats() const = 0;

  // Whoever makes tables sets it; not at once with other calls of these two.
  const TableIdentity& identity() const { return identity_; }
  void SetIdentity(const TableIdentity& identity) { identity_ = identity; }

 private:
  TableIdentity identity_;
};

// That of a table's rows. InvalidArgument if `config` does not validate.
Result<RowLayout> LayoutOf(const TableConfig& config);

// The time, in seconds from any beginning, for rows that expire by seconds.
using SecondsClock = std::function<double()>;

// InvalidArgument if `config` does not validate. `seconds` is the machine's own
// clock if it is null. What `meter`, if there is one, counts is rows, state,
// index, what admission knows, and what a table takes without rows. Throws
// std::bad_alloc.
Result<std::shared_ptr<Table>> MakeTable(
    const TableConfig& config, SecondsClock seconds = nullptr,
    std::shared_ptr<MemoryMeter> meter = nullptr);

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_H_
