// A table against a dictionary of rows, by random operations.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/store/initializer.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

constexpr size_t kDim = 3;
constexpr float kDefault = -4;
constexpr float kInitialAccumulator = 0.1f;
constexpr float kEpsilon = 1e-7f;

class Model {
 public:
  explicit Model(const TableConfig& config)
      : adagrad_(config.optimizer.name == "adagrad"),
        table_seed_(TableSeed(config.name, config.seed)),
        initializer_(std::move(*MakeInitializer(config.initializer))) {}

  Floats Lookup(const Ids& ids, bool read_only) {
    Floats out;
    for (const int64_t id : ids) {
      const auto row = rows_.find(id);
      if (row == rows_.end() && read_only) {
        out.insert(out.end(), kDim, kDefault);
        continue;
      }
      const Floats& weights =
          row != rows_.end() ? row->second.weights : Create(id).weights;
      out.insert(out.end(), weights.begin(), weights.end());
    }
    return out;
  }

  uint64_t Update(const Ids& ids, const Floats& gradients, float rate) {
    uint64_t applied = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto row = rows_.find(ids[i]);
      if (row == rows_.end()) continue;
      ++applied;
      for (size_t d = 0; d < kDim; ++d) {
        Step(&row->second, d, gradients[i * kDim + d], rate);
      }
    }
    return applied;
  }

  void Assign(const Ids& ids, const Floats& weights, const Floats& state) {
    const size_t state_size = adagrad_ ? kDim : 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      TableRow& row = rows_[ids[i]];
      row.weights.assign(&weights[i * kDim], &weights[i * kDim] + kDim);
      row.state.assign(state_size, kInitialAccumulator);
      if (state.empty()) continue;
      row.state.assign(&state[i * state_size], &state[i * state_size] + kDim);
    }
  }

  uint64_t Remove(const Ids& ids) {
    uint64_t removed = 0;
    for (const int64_t id : ids) removed += rows_.erase(id);
    return removed;
  }

  size_t size() const { return rows_.size(); }

  std::map<int64_t, TableRow> rows() const {
    return {rows_.begin(), rows_.end()};
  }

 private:
  const TableRow& Create(int64_t id) {
    TableRow& row = rows_[id];
    row.weights.resize(kDim);
    initializer_->Fill(table_seed_, id, row.weights.data(), kDim);
    if (adagrad_) row.state.assign(kDim, kInitialAccumulator);
    return row;
  }

  void Step(TableRow* row, size_t d, float gradient, float rate) const {
    if (!adagrad_) {
      row->weights[d] -= gradient * rate;
      return;
    }
    row->state[d] += gradient * gradient;
    row->weights[d] -= rate * gradient / std::sqrt(row->state[d] + kEpsilon);
  }

  const bool adagrad_;
  const uint64_t table_seed_;
  const std::unique_ptr<Initializer> initializer_;
  std::unordered_map<int64_t, TableRow> rows_;
};

class RandomRequests {
 public:
  explicit RandomRequests(uint64_t seed) : random_(seed) {}

  // 1 to 64, some of them often and some repeated.
  Ids NextIds() {
    Ids ids(1 + random_() % 64);
    for (int64_t& id : ids) {
      const uint64_t ids_to_choose = random_() % 2 == 0 ? 200 : 20000;
      id = static_cast<int64_t>(random_() % ids_to_choose) - 50;
    }
    return ids;
  }

  Floats NextFloats(size_t count) {
    Floats values(count);
    for (float& value : values) {
      value = static_cast<float>(random_() % 20001) * 1e-4f - 1;
    }
    return values;
  }

  uint64_t Below(uint64_t end) { return random_() % end; }

 private:
  std::mt19937_64 random_;
};

void DoOne(Table* table, Model* model, RandomRequests* requests,
           const Ids& ids) {
  const uint64_t kind = requests->Below(20);
  if (kind < 8) {
    ASSERT_EQ(Look(table, ids), model->Lookup(ids, false));
  } else if (kind < 10) {
    ASSERT_EQ(Peek(table, ids), model->Lookup(ids, true));
  } else if (kind < 17) {
    const Floats gradients = requests->NextFloats(ids.size() * kDim);
    const uint64_t applied = model->Update(ids, gradients, 0.1f);
    const UpdateCounts counts = table->Update(ids, gradients, 0.1f);
    ASSERT_EQ(counts.applied, applied);
    ASSERT_EQ(counts.absent, ids.size() - applied);
  } else if (kind < 18) {
    const Floats weights = requests->NextFloats(ids.size() * kDim);
    Floats state;
    if (requests->Below(2) == 0)
      state.resize(ids.size() * table->state_size(), 2);
    table->Assign(ids, weights, state);
    model->Assign(ids, weights, state);
  } else {
    ASSERT_EQ(table->Remove(ids), model->Remove(ids));
  }
}

void ExpectIsADictionary(const std::string& optimizer) {
  constexpr size_t kOperations = 1000000;
  constexpr int kRequestsAnExport = 3000;
  TableConfig config = MakeConfig("t", kDim, "uniform", optimizer);
  config.default_value = kDefault;
  const auto table = TableOf(config);
  Model model(config);
  RandomRequests requests(23);
  size_t operations = 0;
  for (int request = 1; operations < kOperations; ++request) {
    const Ids ids = requests.NextIds();
    operations += ids.size();
    DoOne(table.get(), &model, &requests, ids);
    if (::testing::Test::HasFatalFailure()) {
      FAIL() << "request " << request;
    }
    ASSERT_EQ(table->Stats().rows, model.size()) << "request " << request;
    if (request % kRequestsAnExport != 0) continue;
    ASSERT_EQ(ExportAll(*table, 1 + requests.Below(500)), model.rows());
  }
  EXPECT_GT(model.size(), 1000u);
  EXPECT_EQ(ExportAll(*table), model.rows());
}

TEST(TableProperty, IsADictionaryOfRowsThatSgdTrains) {
  ExpectIsADictionary("sgd");
}

TEST(TableProperty, IsADictionaryOfRowsThatAdagradTrains) {
  ExpectIsADictionary("adagrad");
}

}  // namespace
}  // namespace persia
