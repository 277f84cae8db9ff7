// SubShard: a table's rows whose ids share a sub-shard, under one lock.
//
// A call works on a group: ids of a batch, and their places in it, which are
// those of their rows and gradients. Thread-safe, but for the steps of lookups
// and updates, which a Bundle makes. Calls throw std::bad_alloc when memory
// runs out; what they did by then stays, every row whole.

#ifndef PERSIA_CC_STORE_SUB_SHARD_H_
#define PERSIA_CC_STORE_SUB_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/admission.h"
#include "cc/store/changed_rows.h"
#include "cc/store/eviction.h"
#include "cc/store/initializer.h"
#include "cc/store/kept_rows.h"
#include "cc/store/row_format.h"
#include "cc/store/row_index.h"
#include "cc/store/row_slab.h"
#include "cc/store/spin_mutex.h"
#include "cc/store/table.h"
#include "cc/store/touched_rows.h"

namespace persia {

// What all rows of a table have in common. Immutable.
struct RowRules {
  size_t dim;
  size_t state_size;    // Floats.
  size_t use_offset;    // Bytes to a row's RowUse, if the table evicts.
  size_t state_offset;  // Bytes to a row's optimizer state.
  size_t row_bytes;
  uint64_t table_seed;
  float default_value;
  Eviction eviction;
  std::unique_ptr<const Initializer> initializer;
  std::unique_ptr<const Optimizer> optimizer;
  std::unique_ptr<const RowFormat> format;

  RowLayout layout() const { return {row_bytes, use_offset, state_offset}; }
};

struct IdGroup {
  Span<const int64_t> ids;
  Span<const uint32_t> places;
};

// What a lookup does beside reading rows.
enum class LookupKind {
  kReads,    // Nothing.
  kTrains,   // It notes rows as used, and makes those that are absent.
  kPresent,  // It notes rows as used. Absent ones get nothing.
};

struct LookupCounts {
  uint64_t absent = 0;   // Got no row: refused, or a lookup that makes none.
  uint64_t created = 0;  // Got a row that was not there before.
  uint64_t refused = 0;  // By admission.
  uint64_t expired = 0;  // Rows removed: their time was over, or for room.
  bool met_expired = false;       // A reader took a row for absent.
  RowChanges* changes = nullptr;  // Gets the rows that came and left, if any.
};

// A row that might be evicted, and how it was used when that was found.
struct EvictionCandidate {
  uint64_t rank;
  int64_t id;
  uint32_t sub_shard;
};

// What one reader has frozen of a sub-shard.
struct FrozenPart {
  KeptRows kept;
  SaveScope scope;
};

// Rows that a walk should ask for in one call, so that others wait for the lock
// no longer than for a lookup.
inline constexpr size_t kMostRowsALock = 1024;

class SubShard {
 public:
  // `rules`, and `meter` if there is one, must outlive the sub-shard. Its
  // number sets its random numbers apart from the others'.
  SubShard(const RowRules* rules, size_t number,
           std::unique_ptr<Admission> admission, MemoryMeter* meter = nullptr)
      : rules_(*rules),
        meter_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow),
        rounding_seed_(Mix64(rules->table_seed + number)),
        admission_(std::move(admission)),
        // Rows are what is limited. An index grows with them; and a little
        // while rows come and go, when each is in place of another.
        index_(meter, RowIndex::AtLimit::kGrow,
               KeyedHash::Numbered(rules->table_seed + number)),
        slab_(rules->row_bytes, meter) {
    metered_.Grow(own_bytes(), [] {});
  }

  // A lookup or an update takes these steps, in this order, from the third on
  // under the lock. Each asks for the memory that the next one needs: who works
  // on several sub-shards takes each step of all of them before the next, and
  // so waits for memory once.
  void Ask() const;
  void Lock();
  void AskForIndex(Span<const int64_t> ids) const;
  // Finds rows, or null for absent ids, and makes those that training lacks.
  // `now` is the time of RowUse. Adds to `counts`.
  void StartLookup(IdGroup group, LookupKind kind, uint32_t now,
                   std::byte** rows, LookupCounts* counts);
  void StartUpdate(IdGroup group, const float* gradients, std::byte** rows);
  // See Table. The rows are what the step before has found; those whose time
  // is over become null.
  void FinishLookup(IdGroup group, LookupKind kind, AbsentRows absent,
                    uint32_t now, std::byte** rows, float* out,
                    LookupCounts* counts) const;
  void FinishUpdate(IdGroup group, std::byte** rows, const float* gradients,
                    OptimizerStep step, UpdateCounts* counts);
  void Unlock() { mutex_.unlock(); }

  // See Table.
  void Assign(IdGroup group, const float* weights, const float* states,
              uint32_t now, LookupCounts* counts);
  void Create(Span<const int64_t> ids, uint32_t now, LookupCounts* counts);
  uint64_t Remove(Span<const int64_t> ids);
  void NoteUses(Span<const int64_t> ids, uint32_t time);

  // These walk as RowIndex::Walk does.
  uint64_t Export(uint64_t from, size_t max_rows, uint32_t now,
                  RowPage* page) const;
  uint64_t FindCandidates(uint64_t from, size_t least, uint32_t now,
                          uint32_t sub_shard,
                          std::vector<EvictionCandidate>* candidates) const;
  // Removes rows whose time is over. Adds to `seen` and to counts->expired.
  uint64_t Sweep(uint64_t from, size_t least, uint32_t now, size_t* seen,
                 LookupCounts* counts);

  // From Freeze to Thaw, ReadFrozen gives the rows as they were at Freeze, or
  // those of them that changed before BeginSave; but how a row was used may be
  // newer. It walks as RowIndex::Walk does, from where it was, and returns
  // whether there is more. kResourceExhausted if there was no memory to keep
  // what changed. Several may read, each what it has frozen. Precondition:
  // BeginSave came first, to freeze changes. What Freeze returns lives until
  // Thaw, and is used under the lock alone: by these.
  FrozenPart* Freeze(SaveScope scope);
  Result<bool> ReadFrozen(size_t least, FrozenPart* part, RawRows* rows);
  void Thaw(FrozenPart* part);

  // What changes from now on belongs to the next save. What changed before, and
  // is in none that was committed, belongs to this one. Not while changes are
  // frozen.
  void BeginSave();
  void CommitSave();
  // Whether there was no memory to note what changed since the save that was
  // committed last.
  bool lost_changes() const;
  // Of the save that was begun last: appends the ids that lost their rows.
  void ReadErased(std::vector<int64_t>* ids) const;
  // About how many rows it is of.
  size_t RowsToSave(SaveScope scope) const;

  // Notes from now on, for one who follows, which ids to tell of; and what
  // changed since the save that was committed last, if that is the scope: null
  // if that is not known. What it returns lives until Unfollow, and is used
  // under the lock alone: by these.
  TouchedRows* Follow(SaveScope scope);
  void Unfollow(TouchedRows* touched);
  // Walks as RowIndex::Walk does, and tells of all rows, or of those alone that
  // Follow found changed.
  uint64_t TellWalked(SaveScope scope, uint64_t from, size_t least,
                      uint32_t now, TouchedRows* touched,
                      RowDelta* delta) const;
  // Tells of `count` ids at most that were touched; whether more were.
  bool TellTouched(size_t count, uint32_t now, TouchedRows* touched,
                   RowDelta* delta) const;
  void Tell(Span<const int64_t> ids, uint32_t now, RowDelta* delta) const;
  bool AnyTouched(const TouchedRows& touched) const;
  bool LostTouched(const TouchedRows& touched) const;

  // Sets whole rows, creating those that are absent: `rows` has as many of the
  // table's rows as `ids` are, one after the other.
  void Restore(IdGroup group, const std::byte* rows, LookupCounts* counts);

  // Removes those candidates whose rank did not rise since; returns how many.
  uint64_t Evict(Span<const EvictionCandidate> candidates, uint32_t now,
                 RowChanges* changes);

  // Rows that were rounded at random.
  uint64_t rounded() const;
  void set_rounded(uint64_t count);

  // Adds its part to stats->rows, bytes and index_slots.
  void AddStats(TableStats* stats) const;

 private:
  // All below expect mutex_ to be held.
  void PointTo(const RowIndex::Row* numbers, size_t count,
               std::byte** rows) const;
  void AskToRead(const std::byte* row) const;
  void AskToStep(const std::byte* row, const float* gradient) const;
  void EraseExpired(Span<const int64_t> ids, uint32_t now, RowIndex::Row* rows,
                    LookupCounts* counts);
  void CreateAbsent(Span<const int64_t> ids, uint32_t now, RowIndex::Row* rows,
                    LookupCounts* counts);
  RowIndex::Row FindOrCreate(int64_t id, uint32_t now, LookupCounts* counts);
  RowIndex::Row CreateRow(int64_t id, uint32_t now);
  template <typename Work>
  void MakingRoom(size_t ids, uint32_t now, LookupCounts* counts,
                  const Work& work);
  size_t EvictForRoom(size_t count, uint32_t now, LookupCounts* counts);
  void Insert(int64_t id, RowIndex::Row row);
  void WriteInitial(int64_t id, std::byte* row) const;
  void AppendRow(int64_t id, const std::byte* row, RawRows* rows) const;
  // Whether ReadFrozen may give what the row holds.
  bool Has(const FrozenPart& part, RowIndex::Row row) const {
    return part.scope == SaveScope::kWhole || saved_->Has(row);
  }
  void KeepRow(int64_t id, RowIndex::Row row) {
    for (const auto& part : frozen_) {
      if (Has(*part, row) && part->kept.MustAdd(id, row)) {
        part->kept.Add(id, slab_.at(row));
      }
    }
  }
  // A row that is there, before it changes.
  void NoteChange(int64_t id, RowIndex::Row row) {
    if (changes_) changes_->Mark(row);
    for (const auto& follower : followers_) follower->Touch(id, row);
    KeepRow(id, row);
  }
  void NoteUpdates(Span<const int64_t> ids, const RowIndex::Row* rows);
  bool Erase(int64_t id);
  void TellRow(int64_t id, const std::byte* row, uint32_t now,
               RowDelta* delta) const;
  void NoteUse(std::byte** rows, size_t count, LookupKind kind, uint32_t now,
               LookupCounts* counts) const;
  void FillAbsent(int64_t id, LookupKind kind, AbsentRows absent,
                  float* out) const;
  void UpdateSlice(std::byte* const* rows, const uint32_t* places, size_t count,
                   const float* gradients, OptimizerStep step,
                   UpdateCounts* counts);
  void UpdateInPlace(std::byte* const* rows, const float* const* gradients,
                     size_t count, OptimizerStep step);
  void UpdateEncoded(std::byte* row, const float* gradient, OptimizerStep step);
  bool Expired(const std::byte* row, uint32_t now) const;
  template <typename Visit>
  uint64_t WalkUses(uint64_t from, size_t least, const Visit& visit) const;

  RowUse* use(std::byte* row) const {
    return reinterpret_cast<RowUse*>(row + rules_.use_offset);
  }
  const RowUse& use(const std::byte* row) const {
    return *reinterpret_cast<const RowUse*>(row + rules_.use_offset);
  }
  float* state(std::byte* row) const {
    return reinterpret_cast<float*>(row + rules_.state_offset);
  }

  // Its own, with an admission, and the heap around them.
  static constexpr size_t own_bytes() { return sizeof(SubShard) + 64; }

  const RowRules& rules_;
  MemoryMeter* const meter_;
  MeteredBytes metered_;  // Of own_bytes.
  const uint64_t rounding_seed_;
  mutable SpinMutex mutex_;
  // All below are guarded by mutex_.
  const std::unique_ptr<Admission> admission_;
  RowIndex index_;
  RowSlab slab_;
  // Since the last BeginSave, once there was one; and those before it that no
  // save that was committed has.
  std::optional<ChangedRows> changes_;
  std::optional<ChangedRows> saved_;
  std::vector<std::unique_ptr<TouchedRows>> followers_;
  std::vector<std::unique_ptr<FrozenPart>> frozen_;
  uint64_t rooms_made_ = 0;  // Seeds where each begins to look.
  uint64_t rounded_ = 0;     // Seeds the rounding of each.
};

// A table's, in the order of their numbers.
using SubShards = std::vector<std::unique_ptr<SubShard>>;

}  // namespace persia

#endif  // PERSIA_CC_STORE_SUB_SHARD_H_
