#include "cc/store/table.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/keyed_hash.h"
#include "cc/base/slots.h"
#include "cc/store/capacity.h"
#include "cc/store/evictor.h"
#include "cc/store/frozen_table.h"
#include "cc/store/group_pipeline.h"
#include "cc/store/id_groups.h"
#include "cc/store/sub_shard.h"
#include "cc/store/table_feed.h"

namespace persia {
namespace {

const IdGroups& GroupIds(Span<const int64_t> ids) {
  thread_local IdGroups groups;
  groups.Build(ids);
  return groups;
}

// The cursor of an export consists of the sub-shard, the upper bits of the
// hash, and a mark that differs from table to table.
constexpr int kSubShardBits = 6;
static_assert(kSubShards == 1 << kSubShardBits, "a cursor has room for them");
constexpr int kMarkBits = 16;
constexpr uint64_t kMarks = uint64_t{1} << kMarkBits;
constexpr int kHashBits = 64 - kSubShardBits - kMarkBits;
// Number of hashes that share a cursor.
constexpr uint64_t kHashStep = uint64_t{1} << (64 - kHashBits);
static_assert(RowIndex::kWalkStep == kHashStep, "a cursor has room for a hash");

// Returns the mark of a table's cursors. It is neither 0, the mark of kBegin,
// nor all ones, the mark of kEnd.
uint64_t MarkOf(const KeyedHash& hash) { return 1 + hash(0) % (kMarks - 2); }

class ShardedTable : public Table {
 public:
  ShardedTable(const TableConfig& config, std::unique_ptr<RowRules> rules,
               SecondsClock seconds, std::shared_ptr<MemoryMeter> meter,
               uint32_t slots)
      : config_(config),
        rules_(std::move(rules)),
        seconds_(std::move(seconds)),
        begin_(seconds_()),
        meter_(std::move(meter)),
        mark_(MarkOf(KeyedHash::Numbered(rules_->table_seed))),
        share_(slots),
        evictor_(&rules_->eviction,
                 CapacityRows(config.capacity, slots, rules_->row_bytes),
                 &sub_shards_, &rows_) {
    for (size_t s = 0; s < kSubShards; ++s) {
      const double share = ShareOf(s) * slots / kSlots;
      sub_shards_.push_back(std::make_unique<SubShard>(
          rules_.get(), s,
          MakeAdmission(config.admission, rules_->table_seed, share,
                        meter_.get()),
          meter_.get()));
    }
  }

  const TableConfig& config() const override { return config_; }

  size_t state_size() const override { return rules_->state_size; }

  bool Lookup(Span<const int64_t> ids, bool read_only, Span<float> rows,
              RowChanges* changes, AbsentRows absent) override {
    if (!read_only) {
      Train(ids, Now(true), rows, changes);
      return false;
    }
    LookupCounts counts;
    LookUp(ids, LookupKind::kReads, absent, Now(false), rows, &counts,
           [](const GroupPipeline::Part&) {});
    Add(&rows_looked_up_, ids.size());
    Add(&rows_found_, ids.size() - counts.absent);
    return counts.met_expired;
  }

  void LookupAbsent(Span<const int64_t> ids, uint32_t time, Span<float> rows,
                    RowChanges* changes) override {
    Train(ids, time, rows, changes);
  }

  uint32_t LookupPresent(Span<const int64_t> ids, Span<float> rows,
                         std::vector<uint32_t>* absent) override {
    LookupCounts counts;
    const size_t before = absent->size();
    const uint32_t now = Now(true);
    LookUp(ids, LookupKind::kPresent, AbsentRows::kDefault, now, rows, &counts,
           [absent](const GroupPipeline::Part& part) {
             for (size_t i = 0; i < part.group.ids.size(); ++i) {
               if (part.rows[i] != nullptr) continue;
               absent->push_back(part.group.places[i]);
             }
           });
    // Only ids with a row are counted here: LookupAbsent counts the absent ids.
    const size_t found = ids.size() - (absent->size() - before);
    Add(&rows_looked_up_, found);
    Add(&rows_found_, found);
    return now;
  }

  UpdateCounts Update(Span<const int64_t> ids, Span<const float> gradients,
                      OptimizerStep step) override {
    UpdateCounts counts;
    const auto start = [&](const GroupPipeline::Part& part) {
      part.sub_shard->StartUpdate(part.group, gradients.data(), part.rows);
    };
    const auto finish = [&](const GroupPipeline::Part& part) {
      part.sub_shard->FinishUpdate(part.group, part.rows, gradients.data(),
                                   step, &counts);
    };
    GroupPipeline(GroupIds(ids), sub_shards_).Run(start, finish);
    Add(&rows_updated_, counts.applied);
    Add(&nonfinite_, counts.nonfinite);
    Add(&absent_, counts.absent);
    return counts;
  }

  void Assign(Span<const int64_t> ids, Span<const float> weights,
              Span<const float> state, RowChanges* changes) override {
    const uint32_t now = Now(false);
    const float* states = state.empty() ? nullptr : state.data();
    LookupCounts counts;
    ForEachGroup(ids, [&](SubShard* sub_shard, IdGroup group) {
      Named([&] {
        const CountOnExit count(this, &counts);
        sub_shard->Assign(group, weights.data(), states, now, &counts);
      });
    });
    Add(&evictions_, counts.expired);
    Evict(ids.size(), counts.created, now, changes);
  }

  void Create(Span<const int64_t> ids, RowChanges* changes) override {
    const uint32_t now = Now(false);
    LookupCounts counts;
    counts.changes = changes;
    ForEachGroup(ids, [&](SubShard* sub_shard, IdGroup group) {
      Named([&] {
        const CountOnExit count(this, &counts);
        sub_shard->Create(group.ids, now, &counts);
      });
    });
    Add(&evictions_, counts.expired);
  }

  uint64_t Remove(Span<const int64_t> ids) override {
    uint64_t removed = 0;
    ForEachGroup(ids, [&](SubShard* sub_shard, IdGroup group) {
      removed += sub_shard->Remove(group.ids);
    });
    rows_.fetch_sub(static_cast<int64_t>(removed), std::memory_order_relaxed);
    return removed;
  }

  uint64_t RemoveSlots(const SlotSet& slots) override {
    uint64_t removed = 0;
    for (const auto& sub_shard : sub_shards_) {
      uint64_t hash = 0;
      do {
        const uint64_t before = removed;
        hash = sub_shard->RemoveSlots(hash, kMostRowsALock, slots, &removed);
        rows_.fetch_sub(static_cast<int64_t>(removed - before),
                        std::memory_order_relaxed);
      } while (hash != 0);
    }
    return removed;
  }

  uint64_t Export(uint64_t cursor, size_t max_rows,
                  RowPage* page) const override {
    *page = RowPage();
    page->use_time = rules_->eviction.use_time();
    const uint32_t now = Now(false);
    uint64_t sub_shard = cursor >> (64 - kSubShardBits);
    uint64_t hash = (cursor >> kMarkBits) * kHashStep;
    while (page->ids.size() < max_rows) {
      if (sub_shard == kSubShards || cursor == kEnd) return kEnd;
      const size_t wanted = max_rows - page->ids.size();
      hash = sub_shards_[sub_shard]->Export(
          hash, std::min(wanted, kMostRowsALock), now, page);
      if (hash == 0) ++sub_shard;
    }
    if (sub_shard == kSubShards) return kEnd;
    return sub_shard << (64 - kSubShardBits) | hash / kHashStep << kMarkBits |
           mark_;
  }

  bool CanExportFrom(uint64_t cursor) const override {
    return cursor == kBegin || cursor == kEnd || cursor % kMarks == mark_;
  }

  Result<std::unique_ptr<FrozenRows>> Freeze() override {
    return Frozen(SaveScope::kWhole, /*is_read=*/nullptr);
  }

  Result<std::unique_ptr<FrozenRows>> FreezeToSave(SaveScope scope) override {
    if (scope == SaveScope::kChanges && (!was_saved_ || lost_changes())) {
      return ChangesNotKnown("save all of its rows");
    }
    if (is_saved_.exchange(true)) {
      return Status(Code::kFailedPrecondition,
                    Concat("table \"", config_.name,
                           "\" is being saved already; wait until that ends"));
    }
    for (const auto& sub_shard : sub_shards_) sub_shard->BeginSave();
    save_begun_ = true;
    return Frozen(scope, &is_saved_);
  }

  void CommitSave() override {
    if (!save_begun_.exchange(false)) return;
    for (const auto& sub_shard : sub_shards_) sub_shard->CommitSave();
    was_saved_ = true;
  }

  bool was_saved() const override { return was_saved_; }

  bool lost_changes() const override {
    return std::any_of(sub_shards_.begin(), sub_shards_.end(),
                       [](const auto& part) { return part->lost_changes(); });
  }

  Result<std::unique_ptr<RowFeed>> Follow(FeedStart start,
                                          const FeedForm& form) override {
    auto feed = std::make_unique<TableFeed>(shared_from_this(), &sub_shards_,
                                            start, form);
    if (feed->begun()) return std::unique_ptr<RowFeed>(std::move(feed));
    return ChangesNotKnown("begin again with all of its rows");
  }

  RowLayout layout() const override { return rules_->layout(); }

  bool expires() const override { return rules_->eviction.expires(); }

  uint32_t time() const override { return Now(false); }

  void SetTime(uint32_t now) override {
    steps_ = now;
    begin_ = seconds_() - now;
  }

  void NoteUses(Span<const int64_t> ids, uint32_t time) override {
    if (!expires()) return;
    ForEachGroup(ids, [&](SubShard* sub_shard, IdGroup group) {
      sub_shard->NoteUses(group.ids, time);
    });
  }

  void Restore(const RawRows& rows, RowChanges* changes) override {
    const uint32_t now = Now(false);
    LookupCounts counts;
    ForEachGroup(rows.ids, [&](SubShard* sub_shard, IdGroup group) {
      const CountOnExit count(this, &counts);
      sub_shard->Restore(group, rows.bytes.data(), &counts);
    });
    Evict(rows.ids.size(), counts.created, now, changes);
  }

  void Place(const RawRows& rows, RowChanges* changes) override {
    const uint32_t now = Now(false);
    LookupCounts counts;
    counts.changes = changes;
    ForEachGroup(rows.ids, [&](SubShard* sub_shard, IdGroup group) {
      Named([&] {
        const CountOnExit count(this, &counts);
        sub_shard->Place(group, rows.bytes.data(), now, &counts);
      });
    });
    Add(&evictions_, counts.expired);
    Evict(rows.ids.size(), counts.created, now, changes);
  }

  void SetEvicts(bool evicts) override { evicts_ = evicts; }

  uint32_t share() const override { return share_; }

  void SetShare(uint32_t slots) override {
    share_ = slots;
    evictor_.set_capacity(
        CapacityRows(config_.capacity, slots, rules_->row_bytes));
  }

  std::vector<uint64_t> Rounded() const override {
    std::vector<uint64_t> counts;
    for (const auto& each : sub_shards_) counts.push_back(each->rounded());
    return counts;
  }

  void SetRounded(Span<const uint64_t> counts) override {
    const size_t count = std::min(counts.size(), sub_shards_.size());
    for (size_t s = 0; s < count; ++s) sub_shards_[s]->set_rounded(counts[s]);
  }

  TableStats Stats() const override {
    TableStats stats;
    stats.name = config_.name;
    stats.dim = config_.dim;
    stats.rows_looked_up = rows_looked_up_.load(std::memory_order_relaxed);
    stats.rows_found = rows_found_.load(std::memory_order_relaxed);
    stats.rows_updated = rows_updated_.load(std::memory_order_relaxed);
    stats.nonfinite_gradients = nonfinite_.load(std::memory_order_relaxed);
    stats.absent_gradients = absent_.load(std::memory_order_relaxed);
    stats.evictions = evictions_.load(std::memory_order_relaxed);
    stats.refused = refused_.load(std::memory_order_relaxed);
    for (const auto& sub_shard : sub_shards_) sub_shard->AddStats(&stats);
    return stats;
  }

 private:
  using Counter = std::atomic<uint64_t>;

  void Train(Span<const int64_t> ids, uint32_t now, Span<float> rows,
             RowChanges* changes) {
    LookupCounts counts;
    counts.changes = changes;
    Named([&] {
      const CountOnExit count(this, &counts);
      LookUp(ids, LookupKind::kTrains, AbsentRows::kInitial, now, rows, &counts,
             [](const GroupPipeline::Part&) {});
    });
    Add(&rows_looked_up_, ids.size());
    Add(&rows_found_, ids.size() - counts.absent - counts.created);
    Add(&refused_, counts.refused);
    Add(&evictions_, counts.expired);
    Evict(ids.size(), counts.created, now, changes);
  }

  Status ChangesNotKnown(const char* advice) const {
    return Status(Code::kFailedPrecondition,
                  Concat("it is not known what changed in table \"",
                         config_.name, "\" after a save: ", advice));
  }

  std::unique_ptr<FrozenRows> Frozen(SaveScope scope,
                                     std::atomic<bool>* is_read) {
    return std::make_unique<FrozenTable>(shared_from_this(), scope,
                                         &sub_shards_, is_read);
  }

  static void Add(Counter* counter, uint64_t count) {
    counter->fetch_add(count, std::memory_order_relaxed);
  }

  // `also` is called for each part after its rows are read. It has the
  // signature void(const GroupPipeline::Part&).
  template <typename Also>
  void LookUp(Span<const int64_t> ids, LookupKind kind, AbsentRows absent,
              uint32_t now, Span<float> rows, LookupCounts* counts,
              const Also& also) {
    const auto start = [&](const GroupPipeline::Part& part) {
      part.sub_shard->StartLookup(part.group, kind, now, part.rows, counts);
    };
    const auto finish = [&](const GroupPipeline::Part& part) {
      part.sub_shard->FinishLookup(part.group, kind, absent, now, part.rows,
                                   rows.data(), counts);
      also(part);
    };
    GroupPipeline(GroupIds(ids), sub_shards_).Run(start, finish);
  }

  // `work` has the signature void(SubShard*, IdGroup).
  template <typename Work>
  void ForEachGroup(Span<const int64_t> ids, const Work& work) {
    GroupIds(ids).ForEach([&](size_t sub_shard, const IdGroup& group) {
      work(sub_shards_[sub_shard].get(), group);
    });
  }

  // Returns the time in RowUse's unit. With `step`, begins a new training
  // lookup and returns its time; otherwise returns the time that the next
  // training lookup will have.
  uint32_t Now(bool step) const {
    if (rules_->eviction.unit() == Eviction::Unit::kSeconds) {
      return static_cast<uint32_t>(static_cast<uint64_t>(seconds_() - begin_));
    }
    if (step) return steps_.fetch_add(1, std::memory_order_relaxed);
    return steps_.load(std::memory_order_relaxed);
  }

  // At the end of its scope, adds the rows that a sub-shard created, less those
  // that it removed, to the table's number of rows; even if the sub-shard's
  // function threw.
  class CountOnExit {
   public:
    CountOnExit(ShardedTable* table, const LookupCounts* counts)
        : table_(*table), counts_(*counts), before_(*counts) {}
    ~CountOnExit() {
      const auto change =
          static_cast<int64_t>((counts_.created - counts_.expired) -
                               (before_.created - before_.expired));
      table_.rows_.fetch_add(change, std::memory_order_relaxed);
    }

   private:
    ShardedTable& table_;
    const LookupCounts& counts_;
    const LookupCounts before_;
  };

  // If `work` reaches the memory limit, adds the table's name to the exception.
  template <typename Work>
  void Named(const Work& work) const {
    try {
      work();
    } catch (const MemoryLimitReached& reached) {
      throw reached.For(Concat("table \"", config_.name, "\""));
    }
  }

  void Evict(size_t ids, uint64_t created, uint32_t now, RowChanges* changes) {
    if (!evicts_) return;
    Add(&evictions_, evictor_.Run(ids, created, now, changes));
  }

  const TableConfig config_;
  const std::unique_ptr<RowRules> rules_;
  const SecondsClock seconds_;
  // The result of seconds_() when the table's time was 0.
  std::atomic<double> begin_;
  const std::shared_ptr<MemoryMeter> meter_;
  const uint64_t mark_;  // The mark of the table's cursors.
  SubShards sub_shards_;
  std::atomic<int64_t> rows_{0};
  std::atomic<uint32_t> share_;
  Evictor evictor_;
  mutable std::atomic<uint32_t> steps_{0};
  // Whether the FrozenRows of a save exist.
  std::atomic<bool> is_saved_{false};
  // Whether a save was begun and not committed since.
  std::atomic<bool> save_begun_{false};
  std::atomic<bool> was_saved_{false};
  std::atomic<bool> evicts_{true};

  Counter rows_looked_up_{0};
  Counter rows_found_{0};
  Counter rows_updated_{0};
  Counter nonfinite_{0};
  Counter absent_{0};
  Counter evictions_{0};
  Counter refused_{0};
};

// The rules that `config` sets, with rows laid out as RowFormat describes.
Result<std::unique_ptr<RowRules>> MakeRules(const TableConfig& config) {
  auto initializer = MakeInitializer(config.initializer);
  if (!initializer.ok()) return initializer.status();
  auto optimizer = MakeOptimizer(config.optimizer);
  if (!optimizer.ok()) return optimizer.status();
  auto format = MakeRowFormat(config.row_dtype);
  if (!format.ok()) return format.status();

  const size_t state_size = (*optimizer)->state_size(config.dim);
  const Eviction eviction(config.eviction);
  const size_t use_offset = ((*format)->weight_bytes(config.dim) + 3) / 4 * 4;
  const size_t state_offset =
      use_offset + (eviction.evicts() ? sizeof(RowUse) : 0);
  return std::make_unique<RowRules>(RowRules{
      config.dim, state_size, use_offset, state_offset,
      state_offset + state_size * sizeof(float),
      TableSeed(config.name, config.seed), config.default_value, eviction,
      std::move(*initializer), std::move(*optimizer), std::move(*format)});
}

double SteadySeconds() {
  const auto since = Clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace

Result<RowLayout> LayoutOf(const TableConfig& config) {
  PERSIA_RETURN_IF_ERROR(config.Validate());
  const auto rules = MakeRules(config);
  if (!rules.ok()) return rules.status();
  return (*rules)->layout();
}

Result<std::shared_ptr<Table>> MakeTable(const TableConfig& config,
                                         SecondsClock seconds,
                                         std::shared_ptr<MemoryMeter> meter,
                                         uint32_t slots) {
  PERSIA_RETURN_IF_ERROR(config.Validate());
  auto rules = MakeRules(config);
  if (!rules.ok()) return rules.status();
  if (seconds == nullptr) seconds = SteadySeconds;
  return std::shared_ptr<Table>(std::make_shared<ShardedTable>(
      config, std::move(*rules), std::move(seconds), std::move(meter), slots));
}

}  // namespace persia
