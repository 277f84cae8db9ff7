// The source of a replica, in this process, which can be made unreachable.

#ifndef PERSIA_TESTS_CC_SHARD_REPLICA_SOURCE_H_
#define PERSIA_TESTS_CC_SHARD_REPLICA_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "cc/service/embedding_service.h"
#include "cc/shard/local_service.h"

namespace persia {

// The source of a replica: its service can be replaced by another one.
class ReplicaSource {
 public:
  ReplicaSource() { Restart(); }

  EmbeddingService* service() {
    std::lock_guard<std::mutex> lock(mutex_);
    return service_.get();
  }

  // Replaces the service by one without tables.
  void Restart() {
    std::lock_guard<std::mutex> lock(mutex_);
    service_ = MakeLocalService();
  }

  void SetAway(bool away) {
    std::lock_guard<std::mutex> lock(mutex_);
    away_ = away;
  }

  int asked() {
    std::lock_guard<std::mutex> lock(mutex_);
    return asked_;
  }

  // The number of followers that have asked, and have not ended since.
  size_t followers() {
    std::lock_guard<std::mutex> lock(mutex_);
    return followers_.size();
  }

  void Changes(ChangesRequest* request, DoneCallback done) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++asked_;
    if (request->max_rows == 0) {
      followers_.erase(request->position.follower);
    } else {
      followers_.insert(request->position.follower);
    }
    if (away_) return done(Status(Code::kUnavailable, "it is away"));
    service_->Changes(request, std::move(done));
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<EmbeddingService> service_;
  bool away_ = false;
  int asked_ = 0;
  std::set<uint64_t> followers_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_REPLICA_SOURCE_H_
