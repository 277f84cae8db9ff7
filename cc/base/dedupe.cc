#include "cc/base/dedupe.h"

#include <cstring>

#include "cc/base/hash.h"

namespace persia {
namespace {

// Enough to hide one cache miss behind the work of as many ids.
constexpr size_t kPrefetchAhead = 24;

// An open-addressing table that is emptied by moving to the next epoch, so a
// batch touches only the slots it uses.
class Index {
 public:
  // Readies the table for `count` ids.
  void Reset(size_t count) {
    size_t capacity = 1024;
    while (capacity < 2 * count) capacity *= 2;
    if (capacity > slots_.size() || ++epoch_ == 0) {
      slots_.assign(capacity, Slot());
      epoch_ = 1;
    }
    mask_ = slots_.size() - 1;
  }

  void Prefetch(int64_t id) const {
    __builtin_prefetch(&slots_[HashId(id) & mask_], 1);
  }

  // The index that `id` got before, or `next` if it is new.
  uint32_t FindOrAdd(int64_t id, uint32_t next) {
    for (size_t at = HashId(id) & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.epoch != epoch_) {
        slot = {id, next, epoch_};
        return next;
      }
      if (slot.id == id) return slot.index;
    }
  }

 private:
  struct Slot {
    int64_t id = 0;
    uint32_t index = 0;
    uint32_t epoch = 0;
  };
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  uint32_t epoch_ = 0;
};

}  // namespace

UniqueIds Dedupe(Span<const int64_t> batch) {
  thread_local Index index;
  index.Reset(batch.size());
  UniqueIds unique;
  unique.inverse.resize(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i + kPrefetchAhead < batch.size()) {
      index.Prefetch(batch[i + kPrefetchAhead]);
    }
    const auto next = static_cast<uint32_t>(unique.ids.size());
    const uint32_t found = index.FindOrAdd(batch[i], next);
    if (found == next) unique.ids.push_back(batch[i]);
    unique.inverse[i] = found;
  }
  return unique;
}

void ExpandRows(Span<const uint32_t> inverse, Span<const float> rows,
                size_t dim, Span<float> out) {
  float* to = out.data();
  for (const uint32_t row : inverse) {
    std::memcpy(to, rows.data() + row * dim, dim * sizeof(float));
    to += dim;
  }
}

void AddGradients(Span<const uint32_t> inverse, Span<const float> gradients,
                  size_t dim, Span<float> sums) {
  const float* gradient = gradients.data();
  for (const uint32_t row : inverse) {
    float* sum = sums.data() + row * dim;
    for (size_t d = 0; d < dim; ++d) sum[d] += gradient[d];
    gradient += dim;
  }
}

}  // namespace persia
