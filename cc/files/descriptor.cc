#include "cc/files/descriptor.h"

#include <unistd.h>

#include <cstring>

namespace persia {
namespace {

Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      return Code::kResourceExhausted;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace

Status FileError(const char* what, const std::string& path, int error) {
  return Status(CodeOf(error),
                Concat("cannot ", what, " ", path, ": ", std::strerror(error)));
}

int Descriptor::Close() {
  const int number = std::exchange(number_, -1);
  return number < 0 ? 0 : ::close(number);
}

int WriteAll(const Descriptor& file, Span<const uint8_t> bytes,
             size_t* written) {
  *written = 0;
  while (*written < bytes.size()) {
    const ssize_t count = ::write(file.number(), bytes.data() + *written,
                                  bytes.size() - *written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    *written += static_cast<size_t>(count);
  }
  return 0;
}

}  // namespace persia
