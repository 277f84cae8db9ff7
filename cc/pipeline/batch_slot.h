// BatchSlot: a prefetched batch's place in its stream's window, which bounds
// the batches in flight.
//
// Everything that still belongs to the batch's step holds a reference to the
// slot: the batch until the model has claimed it, open tickets, staged
// gradients, and updates until they are acknowledged. When the last reference
// is released, the place is free for a later batch. So no code has to declare a
// step finished, whether the step succeeds or fails.

#ifndef PERSIA_CC_PIPELINE_BATCH_SLOT_H_
#define PERSIA_CC_PIPELINE_BATCH_SLOT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace persia {

class BatchSlot {
 public:
  // `on_freed` runs when the last reference to the slot is released. It may run
  // on any thread, and acquires the stream's lock; so code that may release the
  // last reference must hold neither that lock nor the push queue's lock.
  BatchSlot(uint64_t stream, uint64_t step, int staleness,
            std::function<void()> on_freed)
      : stream_(stream),
        step_(step),
        staleness_(staleness),
        on_freed_(std::move(on_freed)) {}
  ~BatchSlot() { on_freed_(); }

  BatchSlot(const BatchSlot&) = delete;
  BatchSlot& operator=(const BatchSlot&) = delete;

  uint64_t stream() const { return stream_; }
  // The number of the batch's step. The batches of all replicas in one step
  // have the same number.
  uint64_t step() const { return step_; }
  int staleness() const { return staleness_; }

  // Records that the optimizer has stepped a layer of this batch. Tickets of
  // such a batch that are still open when a later step begins never get
  // gradients.
  void MarkStepped() { stepped_ = true; }
  bool stepped() const { return stepped_; }

  // Records that an update of this batch has been queued.
  void MarkPushed() { *pushed_ = true; }
  // Whether MarkPushed has been called. The returned flag outlives the slot.
  std::shared_ptr<const std::atomic<bool>> pushed() const { return pushed_; }

 private:
  const uint64_t stream_;
  const uint64_t step_;
  const int staleness_;
  const std::function<void()> on_freed_;
  std::atomic<bool> stepped_{false};
  const std::shared_ptr<std::atomic<bool>> pushed_ =
      std::make_shared<std::atomic<bool>>(false);
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_BATCH_SLOT_H_
