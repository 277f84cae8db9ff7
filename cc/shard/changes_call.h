// ChangesCall: a call of Changes that may be under way while the caller works.
//
// Not thread-safe. Wait and the destructor block until the call ends, which is
// at its deadline at the latest.

#ifndef PERSIA_CC_SHARD_CHANGES_CALL_H_
#define PERSIA_CC_SHARD_CHANGES_CALL_H_

#include <condition_variable>
#include <mutex>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

class ChangesCall {
 public:
  explicit ChangesCall(EmbeddingService* source) : source_(*source) {}
  // Blocks until the call ends.
  ~ChangesCall() { (void)Wait(); }
  ChangesCall(const ChangesCall&) = delete;
  ChangesCall& operator=(const ChangesCall&) = delete;

  // Begins the call. The one before must have ended.
  void Start(const ChangesRequest& request) {
    request_ = request;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ended_ = false;
    }
    source_.Changes(&request_, [this](const Status& status) {
      std::lock_guard<std::mutex> lock(mutex_);
      status_ = status;
      ended_ = true;
      changed_.notify_all();
    });
    under_way_ = true;
  }

  // Whether a call was begun whose outcome Wait has not returned yet.
  bool under_way() const { return under_way_; }

  // Blocks until the call ends, and returns its outcome.
  Status Wait() {
    if (!under_way_) return Status();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    under_way_ = false;
    return status_;
  }

  ChangesRequest* request() { return &request_; }

 private:
  EmbeddingService& source_;
  ChangesRequest request_;
  bool under_way_ = false;  // Used by the caller's thread alone.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = true;  // Guarded by mutex_, as is status_.
  Status status_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_CHANGES_CALL_H_
