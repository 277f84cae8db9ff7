#include "cc/base/random_bytes.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace persia {

Status FillWithRandomBytes(Span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return Status(
          Code::kInternal,
          Concat("the system gives no random bytes: ", std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return Status();
}

Result<uint64_t> RandomNonZero() {
  uint64_t number = 0;
  while (number == 0) {
    PERSIA_RETURN_IF_ERROR(FillWithRandomBytes(
        Span<uint8_t>(reinterpret_cast<uint8_t*>(&number), sizeof(number))));
  }
  return number;
}

}  // namespace persia
