// Acknowledgements: which records of a shard's log its standby has, and what
// waits for that.
//
// Thread-safe. Only BlockUntil blocks.

#ifndef PERSIA_CC_SHARD_ACKNOWLEDGEMENTS_H_
#define PERSIA_CC_SHARD_ACKNOWLEDGEMENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "cc/base/status.h"

namespace persia {

class Acknowledgements {
 public:
  using Done = std::function<void(Status)>;

  // The standby has all records before `position`. Calls what waited for that,
  // on this thread.
  void Advance(uint64_t position);

  // Calls `done` once the standby has all records before `position`, or with
  // the error of End.
  void When(uint64_t position, Done done);
  Status BlockUntil(uint64_t position);

  // Ends all that waits, and all that will, with an error.
  void End(const Status& error);

  // All records before this position are at the standby.
  uint64_t position() const;

 private:
  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  uint64_t position_ = 0;
  Status error_;
  std::multimap<uint64_t, Done> waiting_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_ACKNOWLEDGEMENTS_H_
