// HoldingService: a local service that holds its answers until a test releases
// them.

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
#include <utility>

#include "cc/service/embedding_service.h"

namespace persia {

// Thread-safe.
class HoldingService : public EmbeddingService {
 public:
  HoldingService();
  ~HoldingService() override;

  // From now on requests are executed, but their answers are held.
  void Hold();
  // Waits until `count` answers are held.
  void WaitForHeld(size_t count);
  // Gives the newest held answer.
  void ReleaseNewest();
  // Gives all held answers, and holds no more.
  void ReleaseAll();

  // The next `calls` calls fail with `status`, and do nothing.
  void FailNext(int calls, const Status& status);
  // How many more calls FailNext will make fail.
  int failures_left();

  // The generation that answers contain from now on.
  void SetGeneration(uint64_t generation);

  // The most answers that were held at once.
  size_t most_held();

  // These are neither held nor made to fail.
  void ExchangeTopology(TopologyRequest* request, DoneCallback done) override {
    inner_->ExchangeTopology(request, std::move(done));
  }
  SharedTopology CurrentTopology() const override {
    return inner_->CurrentTopology();
  }

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override;

 private:
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
