// Trainer: updates rows that move from shard to shard, and what must become of
// them.

#ifndef PERSIA_TESTS_CC_CLIENT_TRAINER_H_
#define PERSIA_TESTS_CC_CLIENT_TRAINER_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/client/moving_fixture.h"

namespace persia {

// Updates `ids` again and again, each with the gradient -1 and learning rate 1,
// and sends each update twice. So a row has its first value plus the number of
// updates if each was applied once.
class Trainer {
 public:
  Trainer(const std::vector<std::string>& addresses, std::vector<int64_t> ids,
          uint64_t number)
      : client_(MakeClient(addresses)),
        ids_(std::move(ids)),
        number_(number),
        gradients_(ids_.size() * kRowDim, -1.0f),
        thread_([this] { Run(); }) {}
  ~Trainer() { Stop(); }

  uint64_t updates() const { return updates_; }

  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    while (!stopping_) {
      const uint64_t sequence = updates_ + 1;
      Send(sequence);
      updates_ = sequence;
      Send(sequence);
    }
  }

  void Send(uint64_t sequence) {
    UpdateRequest request;
    request.deadline = DeadlineAfter(60);
    request.client = number_;
    request.sequence = sequence;
    TableUpdate& table = request.tables.emplace_back();
    table.ids.table = HashName(kUser);
    table.ids.dim = kRowDim;
    table.ids.ids = ids_;
    table.gradients = gradients_;
    table.learning_rate = 1;
    CallResult result;
    client_->Update(&request, result.done());
    const Status status = result.Wait();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) stopping_ = true;
  }

  const std::unique_ptr<EmbeddingService> client_;
  const std::vector<int64_t> ids_;
  const uint64_t number_;
  const std::vector<float> gradients_;
  std::atomic<uint64_t> updates_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

inline void ExpectValues(EmbeddingService* client,
                         const std::vector<int64_t>& ids,
                         const std::vector<float>& before, uint64_t updates) {
  const std::vector<float> after = LookUpRows(client, kUser, ids);
  size_t wrong = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    const float expected = before[i] + static_cast<float>(updates);
    if (after[i] != expected && wrong++ < 8) {
      ADD_FAILURE() << "id " << ids[i / kRowDim] << " slot "
                    << SlotOf(ids[i / kRowDim]) << " has " << after[i]
                    << " instead of " << expected;
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << after.size() << " after " << updates;
}

inline std::map<int64_t, std::vector<float>> RowsOn(EmbeddingService* service) {
  return ExportRows(service, kUser, 1000);
}

inline void ExpectEveryRowOnItsOwner(MovingCluster* cluster, size_t shards,
                                     size_t rows) {
  SlotSet all;
  size_t found = 0;
  for (size_t i = 0; i < shards; ++i) {
    const SlotSet own = cluster->SlotsOf(i);
    EXPECT_TRUE((all & own).none());
    all |= own;
    for (const auto& [id, row] : RowsOn(cluster->shard(i).service())) {
      found += own[SlotOf(id)];
    }
  }
  EXPECT_TRUE(all.all());
  EXPECT_EQ(found, rows);
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CLIENT_TRAINER_H_
