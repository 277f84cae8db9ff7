// Tables of every kind, and requests like those of trainers.

#ifndef PERSIA_TESTS_CC_SHARD_TRAFFIC_H_
#define PERSIA_TESTS_CC_SHARD_TRAFFIC_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cc/base/hash.h"
#include "cc/service/embedding_service.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {

inline TableConfig Config(const std::string& name, const std::string& dtype,
                          const std::string& admission = "always",
                          const std::string& capacity = "unlimited",
                          const std::string& eviction = "never") {
  TableConfig config = MakeConfig(name, kDim, "uniform", "adagrad");
  config.row_dtype = SpecOf(dtype);
  config.admission = SpecOf(admission);
  config.capacity = SpecOf(capacity);
  config.eviction = SpecOf(eviction);
  return config;
}

inline const std::vector<TableConfig>& Configs() {
  static const std::vector<TableConfig> configs = {
      Config("plain", "float32"), Config("rounded", "float16"),
      Config("choosy", "float32", "min_count(count=2)"),
      Config("capped", "float32", "always", "rows(count=60)", "lru"),
      Config("short", "float16", "always", "unlimited", "ttl(steps=4)")};
  return configs;
}

// Requests like those of trainers. The same seed gives the same requests.
class Traffic {
 public:
  explicit Traffic(uint32_t seed) : random_(seed) {}

  // One step of each table, by any of three clients.
  void Run(EmbeddingService* service) {
    for (const TableConfig& config : Configs()) {
      const Ids ids = SomeIds();
      Train(service, config.name, ids);
      Floats gradients(ids.size() * kDim);
      for (float& gradient : gradients) gradient = Number();
      if (random_() % 7 == 0) gradients[0] = NAN;
      const uint64_t client = 1 + random_() % 3;
      UpdateBags(service, config.name, ids, gradients, client);
      if (random_() % 5 == 0) Assign(service, config);
      if (random_() % 5 == 0) Remove(service, config.name);
    }
  }

  uint64_t sequence(uint64_t client) { return sequences_[client]; }

 private:
  Ids SomeIds() {
    Ids ids;
    for (int64_t id = 0; id < 120; ++id) {
      if (random_() % 5 == 0) ids.push_back(id);
    }
    ids.push_back(static_cast<int64_t>(1000 + random_() % 1000));
    return ids;
  }

  float Number() { return static_cast<float>(random_() % 200) / 100 - 1; }

  // About half of the updates are of bags of two ids.
  void UpdateBags(EmbeddingService* service, const std::string& table,
                  const Ids& ids, const Floats& gradients, uint64_t client) {
    UpdateRequest request;
    request.client = client;
    request.sequence = ++sequences_[client];
    std::vector<uint32_t> offsets = {0};
    Floats weights(ids.size(), 0.5f);
    TableIds bags = IdsOf(table, ids);
    Span<const float> given(gradients);
    if (random_() % 2 == 0) {
      while (offsets.back() < ids.size()) {
        const auto left = static_cast<uint32_t>(ids.size()) - offsets.back();
        offsets.push_back(offsets.back() + std::min<uint32_t>(2, left));
      }
      bags.combiner = Combiner::kMean;
      bags.bag_offsets = offsets;
      bags.weights = weights;
      given = given.first((offsets.size() - 1) * kDim);
    }
    request.tables = {{bags, given, 0.1f}};
    const Status status = Call(service, &EmbeddingService::Update, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  void Assign(EmbeddingService* service, const TableConfig& config) {
    const Ids ids = SomeIds();
    const Floats weights(ids.size() * kDim, Number());
    const Floats state(ids.size() * kDim, 1.5f);
    AssignRequest request;
    request.table = HashName(config.name);
    request.dim = kDim;
    request.ids = ids;
    request.weights = weights;
    if (random_() % 2 == 0) {
      request.state_size = kDim;
      request.state = state;
    }
    const Status status = Call(service, &EmbeddingService::Assign, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  void Remove(EmbeddingService* service, const std::string& table) {
    const Ids ids = SomeIds();
    RemoveRequest request;
    request.table = HashName(table);
    request.ids = ids;
    const Status status = Call(service, &EmbeddingService::Remove, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::mt19937 random_;
  std::map<uint64_t, uint64_t> sequences_;
};

inline std::map<std::string, Rows> AllRows(EmbeddingService* service) {
  std::map<std::string, Rows> rows;
  for (const TableConfig& config : Configs()) {
    rows[config.name] = RowsOf(service, config.name);
  }
  return rows;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_TRAFFIC_H_
