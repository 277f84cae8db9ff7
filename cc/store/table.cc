#include "cc/store/table.h"

#include <atomic>
#include <utility>
#include <vector>

#include "cc/store/id_groups.h"
#include "cc/store/sub_shard.h"

namespace persia {
namespace {

IdGroups& GroupIds(Span<const int64_t> ids) {
  thread_local IdGroups groups;
  groups.Build(ids);
  return groups;
}

class ShardedTable : public Table {
 public:
  ShardedTable(TableConfig config, std::unique_ptr<Initializer> initializer,
               std::unique_ptr<Optimizer> optimizer)
      : config_(std::move(config)),
        initializer_(std::move(initializer)),
        optimizer_(std::move(optimizer)),
        rules_{config_.dim,
               config_.dim + optimizer_->state_size(config_.dim),
               TableSeed(config_.name, config_.seed),
               config_.default_value,
               initializer_.get(),
               optimizer_.get()} {
    sub_shards_.reserve(kSubShards);
    for (size_t s = 0; s < kSubShards; ++s) {
      sub_shards_.push_back(std::make_unique<SubShard>(&rules_));
    }
  }

  const TableConfig& config() const override { return config_; }

  void Lookup(Span<const int64_t> ids, bool read_only,
              Span<float> rows) override {
    const IdGroups& groups = GroupIds(ids);
    for (size_t s = 0; s < kSubShards; ++s) {
      const Span<const uint32_t> places = groups.group(s);
      if (places.empty()) continue;
      sub_shards_[s]->Lookup(places, ids.data(), read_only, rows.data());
    }
    rows_looked_up_.fetch_add(ids.size(), std::memory_order_relaxed);
  }

  UpdateCounts Update(Span<const int64_t> ids, Span<const float> gradients,
                      float learning_rate) override {
    const IdGroups& groups = GroupIds(ids);
    UpdateCounts counts;
    for (size_t s = 0; s < kSubShards; ++s) {
      const Span<const uint32_t> places = groups.group(s);
      if (places.empty()) continue;
      sub_shards_[s]->Update(places, ids.data(), gradients.data(),
                             learning_rate, &counts);
    }
    rows_updated_.fetch_add(counts.applied, std::memory_order_relaxed);
    nonfinite_.fetch_add(counts.nonfinite, std::memory_order_relaxed);
    absent_.fetch_add(counts.absent, std::memory_order_relaxed);
    return counts;
  }

  TableStats Stats() const override {
    TableStats stats;
    stats.name = config_.name;
    stats.dim = config_.dim;
    stats.rows_looked_up = rows_looked_up_.load(std::memory_order_relaxed);
    stats.rows_updated = rows_updated_.load(std::memory_order_relaxed);
    stats.nonfinite_gradients = nonfinite_.load(std::memory_order_relaxed);
    stats.absent_gradients = absent_.load(std::memory_order_relaxed);
    for (const auto& sub_shard : sub_shards_) sub_shard->AddStats(&stats);
    return stats;
  }

 private:
  const TableConfig config_;
  const std::unique_ptr<Initializer> initializer_;
  const std::unique_ptr<Optimizer> optimizer_;
  const RowRules rules_;
  std::vector<std::unique_ptr<SubShard>> sub_shards_;

  std::atomic<uint64_t> rows_looked_up_{0};
  std::atomic<uint64_t> rows_updated_{0};
  std::atomic<uint64_t> nonfinite_{0};
  std::atomic<uint64_t> absent_{0};
};

}  // namespace

Result<std::unique_ptr<Table>> MakeTable(const TableConfig& config) {
  PERSIA_RETURN_IF_ERROR(config.Validate());
  auto initializer = MakeInitializer(config.initializer);
  if (!initializer.ok()) return initializer.status();
  auto optimizer = MakeOptimizer(config.optimizer);
  if (!optimizer.ok()) return optimizer.status();
  return std::unique_ptr<Table>(std::make_unique<ShardedTable>(
      config, std::move(*initializer), std::move(*optimizer)));
}

}  // namespace persia
