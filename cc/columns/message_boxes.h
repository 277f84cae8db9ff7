// Message boxes: hand bytes that pyarrow holds to ops, without a copy. A
// program puts a message into a box, and gives an op the message's place; the
// op takes it. The program closes a box once no op will ask for what is left
// in it.
//
// Thread-safe. No function blocks, but for the time of another's.

#ifndef PERSIA_CC_COLUMNS_MESSAGE_BOXES_H_
#define PERSIA_CC_COLUMNS_MESSAGE_BOXES_H_

#include <cstdint>
#include <utility>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"

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

// An array of bytes. Frees it at the end of its life, on any thread.
class PERSIA_EXPORT HeldMessage {
 public:
  HeldMessage() = default;
  // Takes `array` over, which is empty afterwards.
  explicit HeldMessage(ArrowArray* array) { std::swap(array_, *array); }
  HeldMessage(HeldMessage&& other) noexcept { std::swap(array_, other.array_); }
  HeldMessage& operator=(HeldMessage&& other) noexcept {
    std::swap(array_, other.array_);
    return *this;
  }
  ~HeldMessage() {
    if (array_.release != nullptr) array_.release(&array_);
  }

  // Returns kInvalidArgument unless it is an array of bytes without nulls.
  Status Check() const;

  // Precondition: Check() is ok.
  ConstBytes bytes() const {
    const auto* const first = static_cast<const uint8_t*>(array_.buffers[1]);
    return ConstBytes(first + array_.offset,
                      static_cast<size_t>(array_.length));
  }

 private:
  ArrowArray array_{};
};

// Returns the number of a new box.
PERSIA_EXPORT int64_t OpenMessageBox();

// Returns the number of the message within the box. Returns kInvalidArgument if
// the array is none of bytes, and kNotFound if the box was closed; the message
// is freed then.
PERSIA_EXPORT Result<int64_t> PutMessage(int64_t box, HeldMessage message);

// Returns a message, which no one else can take again. Returns kNotFound if it
// was taken, or the box was closed.
PERSIA_EXPORT Result<HeldMessage> TakeMessage(int64_t box, int64_t number);

// Frees the messages that are left in a box.
PERSIA_EXPORT void CloseMessageBox(int64_t box);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_MESSAGE_BOXES_H_
