// FakeService: a service that records its requests, and completes its calls
// when a test says so.
//
// Every row is {id, id, ...}; bags are pooled. A call that is not held
// completes before it returns; a held call completes on a thread of the
// service.

#ifndef PERSIA_TESTS_CC_PIPELINE_FAKE_SERVICE_H_
#define PERSIA_TESTS_CC_PIPELINE_FAKE_SERVICE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cc/service/embedding_service.h"

namespace persia {

struct SeenTable {
  TableKey table = 0;
  uint32_t dim = 0;
  std::vector<int64_t> ids;
  Combiner combiner = Combiner::kNone;
  std::vector<uint32_t> bag_offsets;
  AbsentRows absent = AbsentRows::kDefault;  // Of a lookup.
  std::vector<float> gradients;              // Of an update.
  float learning_rate = 0;
};

struct SeenLookup {
  bool read_only = false;
  std::vector<SeenTable> tables;
};

struct SeenUpdate {
  uint64_t client = 0;
  uint64_t sequence = 0;
  uint64_t generation = 0;
  TrainerState trainer;
  double seconds_left = 0;
  std::vector<SeenTable> tables;
};

// The test's control of a service. It outlives the service, and may then serve
// another one. Thread-safe.
class FakeControl {
 public:
  void HoldLookups(bool hold);
  void HoldUpdates(bool hold);

  // Completes the oldest held call with `status`. Precondition: there is one.
  void CompleteLookup(const Status& status = Status());
  void CompleteUpdate(const Status& status = Status());

  // Completes what is held, and holds no more, so that a test can end.
  void ReleaseAll();

  // Tables that are made from now on take bags.
  void TakeBags();

  // The generation that answers to lookups contain, and the counts that updates
  // report, from now on.
  void SetGeneration(uint64_t generation);
  void SetCounts(const UpdateCounts& counts);

  // The requests so far, in order, once there are `count` of them.
  std::vector<SeenLookup> WaitForLookups(size_t count);
  std::vector<SeenUpdate> WaitForUpdates(size_t count);
  size_t lookups() const;
  size_t updates() const;

  std::thread::id service_thread() const;
  void WaitUntilDestroyed();

 private:
  friend class FakeService;

  void CompleteOldest(std::deque<std::function<void(Status)>>* held,
                      const Status& status);
  void MoveHeldToWork(const Status& status);  // Requires mutex_.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All below: guarded by mutex_.
  bool takes_bags_ = false;
  bool hold_lookups_ = false;
  bool hold_updates_ = false;
  uint64_t generation_ = 0;
  UpdateCounts counts_;
  std::vector<SeenLookup> lookups_;
  std::vector<SeenUpdate> updates_;
  std::deque<std::function<void(Status)>> held_lookups_;
  std::deque<std::function<void(Status)>> held_updates_;
  std::deque<std::function<void()>> work_;  // Of the service's thread.
  std::thread::id service_thread_;
  bool stopping_ = false;   // The service ends.
  bool destroyed_ = false;  // It has ended.
};

// Its destructor completes held calls with kCancelled, on the service's thread.
std::unique_ptr<EmbeddingService> MakeFakeService(
    std::shared_ptr<FakeControl> control);

}  // namespace persia

#endif  // PERSIA_TESTS_CC_PIPELINE_FAKE_SERVICE_H_
