// WatchedService: a local service that tells what came to it, and whose answers
// wait for the test's leave.

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
  uint64_t client = 0;
  uint64_t visible_sequence = 0;
  Deadline deadline;
  std::vector<std::vector<int64_t>> ids;  // By table.
};

// Thread-safe. What is held has been done already; only its answer waits.
class WatchedService : public ForwardingService {
 public:
  WatchedService();
  // Completes what is held with kCancelled.
  ~WatchedService() override;

  void HoldLookups(bool hold);
  void HoldUpdates(bool hold);

  // Gives the oldest held answer; its own, or a failure. Precondition: there is
  // one.
  void ReleaseLookup(const std::optional<Status>& failure = std::nullopt);
  void ReleaseUpdate(const std::optional<Status>& failure = std::nullopt);
  size_t held_lookups() const;

  // What answers tell from now on.
  void SetGeneration(uint64_t generation);

  // Lookups so far, in order.
  std::vector<WatchedLookup> lookups() const;
  // Ids of all lookups so far.
  size_t ids_looked_up() const;
  std::vector<UpdateRequest> updates() const;
  // How deep lookups were begun by the ends of others.
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
  std::vector<UpdateRequest> updates_;  // Their memory may be gone.
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_WATCHED_SERVICE_H_
