// LookupGatherer: sends lookups that are issued together as one request.
//
// A step issues its layers' lookups one after the other, without waiting for
// rows. The gatherer collects these lookups in a group. It sends the group when
// the group has as many lookups as the last group that began with the same
// layer, or when no lookup has been added for `linger_seconds`. So a program
// that issues its lookups one at a time waits `linger_seconds` only once per
// layer.
//
// The grouping affects requests, never the rows that lookups return.
//
// The gatherer is thread-safe. `send` runs on the thread of the Add that
// completes a group, or on the gatherer's own thread.

#ifndef PERSIA_CC_PIPELINE_LOOKUP_GATHERER_H_
#define PERSIA_CC_PIPELINE_LOOKUP_GATHERER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "cc/base/clock.h"
#include "cc/pipeline/fused_lookup.h"

namespace persia {

class LookupGatherer {
 public:
  using Send = std::function<void(std::shared_ptr<FusedLookup>)>;

  LookupGatherer(bool read_only, double linger_seconds, Send send);

  ~LookupGatherer() { Stop(); }

  // Sends the current group and ends the gatherer's thread. Add must not be
  // called afterwards. Calling Stop again has no effect.
  void Stop();

  void Add(std::shared_ptr<Lookup> lookup);

 private:
  // Stands for a group size that is not known; such a group is sent when no
  // lookup has been added for linger_seconds.
  static constexpr size_t kUnknown = 0;

  void Work();
  std::shared_ptr<FusedLookup> Take();
  void RelearnIfTooSmall();

  const bool read_only_;
  const double linger_seconds_;
  const Send send_;

  std::mutex mutex_;
  std::condition_variable wake_;
  // All fields below except thread_ are guarded by mutex_.
  std::shared_ptr<FusedLookup> group_;  // Null while there is no group.
  std::string first_;                   // The group's first layer.
  Deadline send_at_;
  // For each layer: the size of the last group that began with this layer, or
  // kUnknown.
  std::unordered_map<std::string, size_t> sizes_;
  // The first layer and the last lookup of the last group that was sent because
  // of its size: see RelearnIfTooSmall.
  std::string last_first_;
  std::weak_ptr<Lookup> last_lookup_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_GATHERER_H_
