// HoldingService: a local service whose answers wait for the test's leave.

#ifndef PERSIA_TESTS_CC_SUPPORT_HOLDING_SERVICE_H_
#define PERSIA_TESTS_CC_SUPPORT_HOLDING_SERVICE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "cc/service/embedding_service.h"

namespace persia {

// Thread-safe.
class HoldingService : public EmbeddingService {
 public:
  HoldingService();
  ~HoldingService() override;

  // From now on the service does what it is asked, but does not say so.
  void Hold();
  // Waits until `count` answers are held.
  void WaitForHeld(size_t count);
  // Gives the newest held answer.
  void ReleaseNewest();
  // Gives all held answers, and holds no more.
  void ReleaseAll();

  // The next `calls` calls fail with `status`, and do nothing.
  void FailNext(int calls, const Status& status);
  // Calls that FailNext is still to fail.
  int failures_left();

  // What answers tell from now on.
  void SetGeneration(uint64_t generation);

  // The most answers that were held at once.
  size_t most_held();

  void CreateTable(CreateTableRequest* request, DoneCallback done) override;
  void Lookup(LookupRequest* request, DoneCallback done) override;
  void Update(UpdateRequest* request, DoneCallback done) override;
  void Stats(StatsRequest* request, DoneCallback done) override;
  void Export(ExportRequest* request, DoneCallback done) override;
  void Assign(AssignRequest* request, DoneCallback done) override;
  void Remove(RemoveRequest* request, DoneCallback done) override;
  void DropTable(DropTableRequest* request, DoneCallback done) override;
  void Changes(ChangesRequest* request, DoneCallback done) override;
  void Checkpoint(CheckpointRequest* request, DoneCallback done) override;

 private:
  template <typename Request>
  void Answer(void (EmbeddingService::*call)(Request*, DoneCallback),
              Request* request, DoneCallback done);
  void GiveOrHold(std::function<void()> answer);

  const std::unique_ptr<EmbeddingService> inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below: guarded by mutex_.
  bool hold_ = false;
  std::deque<std::function<void()>> held_;
  size_t most_held_ = 0;
  int failures_left_ = 0;
  Status failure_;
  std::optional<uint64_t> generation_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_HOLDING_SERVICE_H_
