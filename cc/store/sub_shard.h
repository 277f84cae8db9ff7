// SubShard: the rows of a table whose ids share a sub-shard, under one lock.
//
// A call handles a group: ids of a batch, with their places in the batch. An
// id's values in `out`, `gradients` and similar arrays are at the id's place.
// Thread-safe, except for the steps of lookups and updates, which run in a
// GroupPipeline. Calls throw std::bad_alloc when memory runs out. The rows that
// a call has changed by then stay changed, and no row is left half changed.

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
#include "cc/store/id_groups.h"
#include "cc/store/initializer.h"
#include "cc/store/kept_rows.h"
#include "cc/store/row_format.h"
#include "cc/store/row_index.h"
#include "cc/store/row_slab.h"
#include "cc/store/slices.h"
#include "cc/store/spin_mutex.h"
#include "cc/store/table.h"
#include "cc/store/touched_rows.h"

namespace persia {

// What all rows of a table have in common. Immutable.
struct RowRules {
  size_t dim;
  size_t state_size;    // Number of floats.
  size_t use_offset;    // Offset in bytes of a row's RowUse, if any.
  size_t state_offset;  // Offset in bytes of a row's state.
  size_t row_bytes;
  uint64_t table_seed;
  float default_value;
  Eviction eviction;
  std::unique_ptr<const Initializer> initializer;
  std::unique_ptr<const Optimizer> optimizer;
  std::unique_ptr<const RowFormat> format;

  RowLayout layout() const { return {row_bytes, use_offset, state_offset}; }
};

// What a lookup does besides reading rows.
enum class LookupKind {
  kReads,    // The lookup only reads rows.
  kTrains,   // The lookup also notes uses and creates absent rows.
  kPresent,  // The lookup also notes uses; absent ids get nothing.
};

struct LookupCounts {
  uint64_t absent = 0;       // Ids that had no row and got none.
  uint64_t created = 0;      // Rows created.
  uint64_t refused = 0;      // Ids refused by admission.
  uint64_t expired = 0;      // Rows removed: expired, or evicted for memory.
  bool met_expired = false;  // A read-only lookup met an expired row.
  // The list to which the created and removed rows are appended, or null.
  RowChanges* changes = nullptr;
};

// A row that may be evicted, with its rank when it was found.
struct EvictionCandidate {
  uint64_t rank;
  int64_t id;
  uint32_t sub_shard;
};

// The rows of a sub-shard that one reader has frozen.
struct FrozenPart {
  KeptRows kept;
  SaveScope scope;
};

// The maximum number of rows that a walk should request per call, so that other
// threads wait for the lock no longer than for a lookup.
inline constexpr size_t kMostRowsALock = 1024;

class SubShard {
 public:
  // `rules` must outlive the sub-shard, and so must `meter`, which may be null.
  // `number` makes the random numbers of this sub-shard differ from those of
  // others.
  SubShard(const RowRules* rules, size_t number,
           std::unique_ptr<Admission> admission, MemoryMeter* meter = nullptr)
      : rules_(*rules),
        meter_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow),
        rounding_seed_(Mix64(rules->table_seed + number)),
        admission_(std::move(admission)),
        // The memory limit is enforced on rows. The index may exceed it: it
        // grows with the rows, and slightly as new rows replace evicted ones.
        index_(meter, RowIndex::AtLimit::kGrow,
               KeyedHash::Numbered(rules->table_seed + number)),
        slab_(rules->row_bytes, meter) {
    metered_.Grow(own_bytes(), [] {});
  }

  // A lookup or an update runs the steps from PrefetchSelf to Unlock in this
  // order: those after Lock run under the lock. Each step prefetches what the
  // next one needs. A caller that works on several sub-shards runs steps of
  // others in between, as GroupPipeline does, so that their cache misses
  // overlap.
  void PrefetchSelf() const;
  void Lock();
  void PrefetchIndex(Span<const int64_t> ids) const;
  // Sets `rows` to the rows of the group's ids, or to null for absent ids. A
  // training lookup creates the rows that admission allows. `now` is the time
  // in RowUse's unit. Adds to the counters in `counts`.
  void StartLookup(IdGroup group, LookupKind kind, uint32_t now,
                   std::byte** rows, LookupCounts* counts);
  void StartUpdate(IdGroup group, const float* gradients, std::byte** rows);
  // FinishLookup and FinishUpdate do what Lookup and Update of Table describe.
  // `rows` are the rows that the Start step found; the entries of expired rows
  // become null.
  void FinishLookup(IdGroup group, LookupKind kind, AbsentRows absent,
                    uint32_t now, std::byte** rows, float* out,
                    LookupCounts* counts) const;
  void FinishUpdate(IdGroup group, std::byte** rows, const float* gradients,
                    OptimizerStep step, UpdateCounts* counts);
  void Unlock() { mutex_.unlock(); }

  // Assign, Create, Remove and NoteUses do what the functions of Table with
  // these names describe.
  void Assign(IdGroup group, const float* weights, const float* states,
              uint32_t now, LookupCounts* counts);
  void Create(Span<const int64_t> ids, uint32_t now, LookupCounts* counts);
  uint64_t Remove(Span<const int64_t> ids);
  void NoteUses(Span<const int64_t> ids, uint32_t time);

  // RemoveSlots, Export, FindCandidates and Sweep walk as RowIndex::Walk does.
  //
  // Removes the rows of these slots, and adds their number to `removed`.
  uint64_t RemoveSlots(uint64_t from, size_t least, const SlotSet& slots,
                       uint64_t* removed);
  uint64_t Export(uint64_t from, size_t max_rows, uint32_t now,
                  RowPage* page) const;
  uint64_t FindCandidates(uint64_t from, size_t least, uint32_t now,
                          uint32_t sub_shard,
                          std::vector<EvictionCandidate>* candidates) const;
  // Removes the expired rows that it visits. Adds the number of rows visited to
  // `seen`, and the number of rows removed to counts->expired.
  uint64_t Sweep(uint64_t from, size_t least, uint32_t now, size_t* seen,
                 LookupCounts* counts);

  // Freeze makes a snapshot for one reader; Thaw ends it. Between these calls,
  // ReadFrozen returns the rows as they were at Freeze, except that a row's
  // RowUse may be newer. With kWhole it returns all rows. With kChanges it
  // returns the rows of the save that was begun last; precondition: BeginSave
  // was called.
  //
  // ReadFrozen walks as RowIndex::Walk does, from where its last call stopped,
  // and returns whether more rows are left. It returns kResourceExhausted if
  // there was no memory to copy rows before they changed.
  //
  // Several readers may exist, each with its own FrozenPart. The FrozenPart
  // lives until Thaw. Only these functions may use it, since the lock guards
  // it.
  FrozenPart* Freeze(SaveScope scope);
  Result<bool> ReadFrozen(size_t least, FrozenPart* part, RawRows* rows);
  void Thaw(FrozenPart* part);

  // Begins a save, which contains the changes up to now that no committed save
  // contains. Later changes belong to the next save. Must not be called while
  // changes are frozen.
  void BeginSave();
  void CommitSave();
  // Whether memory ran out while changes since the last committed save were
  // recorded.
  bool lost_changes() const;
  // Appends the ids that the save begun last records as having lost their rows.
  void ReadErased(std::vector<int64_t>* ids) const;
  // About how many rows the save begun last has, if its scope is `scope`.
  size_t RowsToSave(SaveScope scope) const;

  // Starts recording changed ids for a follower. With kChanges, the record
  // includes the ids that changed since the last committed save, and Follow
  // returns null if these are not known. The record lives until Unfollow. Only
  // functions of SubShard may use it, since the lock guards it.
  TouchedRows* Follow(SaveScope scope);
  void Unfollow(TouchedRows* touched);
  // Walks as RowIndex::Walk does, and appends to `delta` all rows that it
  // visits, or with kChanges only those that `touched` has. If `only` is not
  // null, passes over rows of other slots.
  uint64_t TellWalked(SaveScope scope, const FeedForm& form,
                      const SlotSet* only, uint64_t from, size_t least,
                      uint32_t now, TouchedRows* touched,
                      RowDelta* delta) const;
  // Moves up to `count` ids from `touched` to `delta`, with their rows. Returns
  // whether more ids are left.
  bool TellTouched(const FeedForm& form, size_t count, uint32_t now,
                   TouchedRows* touched, RowDelta* delta) const;
  void Tell(const FeedForm& form, Span<const int64_t> ids, uint32_t now,
            RowDelta* delta) const;
  bool AnyTouched(const TouchedRows& touched) const;
  bool LostTouched(const TouchedRows& touched) const;

  // Sets whole rows, and creates absent ones. `rows` contains a row in the
  // table's layout for each place of the batch, one after the other.
  void Restore(IdGroup group, const std::byte* rows, LookupCounts* counts);
  // Does the same, and evicts rows at the memory limit, if the table evicts.
  void Place(IdGroup group, const std::byte* rows, uint32_t now,
             LookupCounts* counts);

  // Removes the rows of those candidates whose rank has not risen since they
  // were found. Returns the number of rows removed.
  uint64_t Evict(Span<const EvictionCandidate> candidates, uint32_t now,
                 RowChanges* changes);

  // The number of times that a row was rounded at random so far.
  uint64_t rounded() const;
  void set_rounded(uint64_t count);

  // Adds this sub-shard's part to stats->rows, bytes and index_slots.
  void AddStats(TableStats* stats) const;

 private:
  // The caller of each function below must hold mutex_.
  // Returns the row's memory, or null for kAbsent.
  std::byte* PointTo(RowIndex::Row row) const {
    return row == RowIndex::kAbsent ? nullptr : slab_.at(row);
  }
  // Prefetches the row's weights and use, which precede its state.
  void PrefetchToRead(const std::byte* row) const {
    if (row != nullptr) PrefetchStart<For::kRead>(row, rules_.state_offset);
  }
  void PrefetchToStep(const std::byte* row, const float* gradient) const;
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
  RowIndex::Row InsertUnset(int64_t id);
  void WriteInitial(int64_t id, std::byte* row) const;
  void AppendRow(int64_t id, const std::byte* row, RawRows* rows) const;
  // Whether `part` has frozen the row.
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
  // Records a change for saves, followers and snapshots. Call it before an
  // existing row changes.
  void NoteChange(int64_t id, RowIndex::Row row) {
    if (changes_) changes_->Mark(row);
    for (const auto& follower : followers_) follower->Touch(id, row);
    KeepRow(id, row);
  }
  void NoteUpdates(Span<const int64_t> ids, const RowIndex::Row* rows);
  bool Erase(int64_t id);
  bool EraseForeign(int64_t id);
  void Free(int64_t id, RowIndex::Row row);
  void TellRow(const FeedForm& form, int64_t id, const std::byte* row,
               uint32_t now, RowDelta* delta) const;
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

  // Memory of the object and its admission rule, with heap overhead.
  static constexpr size_t own_bytes() { return sizeof(SubShard) + 64; }

  const RowRules& rules_;
  MemoryMeter* const meter_;
  MeteredBytes metered_;  // Counts own_bytes().
  const uint64_t rounding_seed_;
  mutable SpinMutex mutex_;
  // Everything below is guarded by mutex_.
  const std::unique_ptr<Admission> admission_;
  RowIndex index_;
  RowSlab slab_;
  // `changes_` has the rows changed since the last BeginSave, if there was one.
  // `saved_` has earlier changes that no committed save contains.
  std::optional<ChangedRows> changes_;
  std::optional<ChangedRows> saved_;
  std::vector<std::unique_ptr<TouchedRows>> followers_;
  std::vector<std::unique_ptr<FrozenPart>> frozen_;
  // The number of EvictForRoom calls, which seeds the random sample of each
  // call.
  uint64_t rooms_made_ = 0;
  // The number of random roundings so far, which seeds the next one.
  uint64_t rounded_ = 0;
};

// The sub-shards of a table, in the order of their numbers.
using SubShards = std::vector<std::unique_ptr<SubShard>>;

}  // namespace persia

#endif  // PERSIA_CC_STORE_SUB_SHARD_H_
