// RetiredLayers: layers whose tables are gone, and the error that their calls
// get.
//
// Thread-safe. While there are none, a check costs one atomic load.

#ifndef PERSIA_CC_PIPELINE_RETIRED_LAYERS_H_
#define PERSIA_CC_PIPELINE_RETIRED_LAYERS_H_

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cc/base/status.h"

namespace persia {

class RetiredLayers {
 public:
  void Add(const std::string& layer, const Status& why) {
    std::lock_guard<std::mutex> lock(mutex_);
    layers_[layer] = why;
    any_ = true;
  }

  // The layer's error; ok for a layer that was not added.
  Status Check(const std::string& layer) const {
    if (!any_.load(std::memory_order_acquire)) return Status();
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = layers_.find(layer);
    return found == layers_.end() ? Status() : found->second;
  }

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Status> layers_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_RETIRED_LAYERS_H_
