// HeldBatch: a record batch of Arrow, some rows of some columns, that another
// library of this process made.
//
// Thread-compatible: a batch is used by one thread at a time.

#ifndef PERSIA_CC_COLUMNS_ARROW_ARRAY_H_
#define PERSIA_CC_COLUMNS_ARROW_ARRAY_H_

#include <cstdint>
#include <utility>

// A structure of Arrow's C data interface, of which other libraries make ones:
// https://arrow.apache.org/docs/format/CDataInterface.html
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

namespace persia {

// Frees the batch at the end of its life, on any thread.
class HeldBatch {
 public:
  HeldBatch() = default;
  // Takes `array` over, which is empty afterwards.
  explicit HeldBatch(ArrowArray* array) { std::swap(array_, *array); }
  HeldBatch(HeldBatch&& other) noexcept { std::swap(array_, other.array_); }
  HeldBatch& operator=(HeldBatch&& other) noexcept {
    std::swap(array_, other.array_);
    return *this;
  }
  ~HeldBatch() {
    if (array_.release != nullptr) array_.release(&array_);
  }

  const ArrowArray& array() const { return array_; }

 private:
  ArrowArray array_{};
};

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_ARROW_ARRAY_H_
