// WatchedService: a local service that records its requests, and holds its
// answers until the test releases them.

#ifndef PERSIA_TESTS_CC_SERVICE_WATCHED_SERVICE_H_
#define PERSIA_TESTS_CC_SERVICE_WATCHED_SERVICE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "cc/service/forwarding_service.h"

namespace persia {

struct WatchedLookup {
  bool read_only = false;
  bool had_bags = false;
  bool had_shard_starts = false;
  uint64_t client = 0;
  uint64_t visible_sequence = 0;
  Deadline deadline;
  std::vector<std::vector<int64_t>> ids;  // By table.
};

// Thread-safe. A held call has been executed already; only its answer waits.
class WatchedService : public ForwardingService {
 public:
  WatchedService();
  // Completes what is held with kCancelled.
  ~WatchedService() override;

  void HoldLookups(bool hold);
  void HoldUpdates(bool hold);

  // Gives the oldest held answer, or `failure` in its place. Precondition: an
  // answer is held.
  void ReleaseLookup(const std::optional<Status>& failure = std::nullopt);
  void ReleaseUpdate(const std::optional<Status>& failure = std::nullopt);
  size_t held_lookups() const;

  // The generation that answers contain from now on.
  void SetGeneration(uint64_t generation);

  // Lookups so far, in order.
  std::vector<WatchedLookup> lookups() const;
  // Ids of all lookups so far.
  size_t ids_looked_up() const;
  std::vector<UpdateRequest> updates() const;
  // The most lookups that were nested: begun while another one was ending.
  int most_nested() const;

  void CreateTable(CreateTableRequest* request, DoneCallback done) override;
  void Lookup(LookupRequest* request, DoneCallback done) override;
  void Update(UpdateRequest* request, DoneCallback done) override;

 private:
  using Answer = std::function<void(const std::optional<Status>& failure)>;
  using Answers = std::deque<Answer>;

  void GiveOrHold(const bool& hold, Answers* held, Answer answer);
  void Release(Answers* held, const std::optional<Status>& failure);

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  bool hold_lookups_ = false;
  bool hold_updates_ = false;
  Answers held_lookups_;
  Answers held_updates_;
  std::optional<uint64_t> generation_;
  std::vector<WatchedLookup> lookups_;
  int nested_ = 0;
  int most_nested_ = 0;
  std::vector<UpdateRequest> updates_;  // Their memory may be freed.
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_WATCHED_SERVICE_H_
