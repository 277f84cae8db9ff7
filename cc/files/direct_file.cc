#include "cc/files/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cc/files/descriptor.h"

namespace persia {
namespace {

// Direct I/O requires aligned addresses, offsets and sizes; this alignment
// suffices for every device.
constexpr size_t kAlignment = 4096;
// A buffer of this size keeps the device busy while other threads run.
constexpr size_t kBufferBytes = size_t{4} << 20;

struct Free {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<uint8_t, Free>;

class DirectFile : public WritableFile {
 public:
  DirectFile(std::string path, Descriptor file, Buffer buffer)
      : path_(std::move(path)),
        file_(std::move(file)),
        buffer_(std::move(buffer)) {}

  Status Append(Span<const uint8_t> bytes) override {
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size(), kBufferBytes - used_);
      std::memcpy(buffer_.get() + used_, bytes.data(), count);
      used_ += count;
      bytes = bytes.subspan(count);
      if (used_ == kBufferBytes) PERSIA_RETURN_IF_ERROR(Flush());
    }
    return Status();
  }

  Status Sync() override {
    PERSIA_RETURN_IF_ERROR(Flush());
    if (::fdatasync(file_.number()) != 0) return FileError("sync", path_);
    return Status();
  }

  Status Close() override {
    PERSIA_RETURN_IF_ERROR(Flush());
    return file_.Close() == 0 ? Status() : FileError("close", path_);
  }

 private:
  Status Flush() {
    Span<const uint8_t> left(buffer_.get(), std::exchange(used_, 0));
    if (left.size() % kAlignment != 0) WriteAsAnyFile();
    size_t written = 0;
    int error = WriteAll(file_, left, &written);
    if (error == EINVAL && is_direct_) {
      WriteAsAnyFile();
      left = left.subspan(written);
      error = WriteAll(file_, left, &written);
    }
    return error == 0 ? Status() : FileError("write", path_, error);
  }

  // Switches to ordinary I/O, because the file's offset is no longer aligned or
  // the file system refused direct I/O.
  void WriteAsAnyFile() {
    is_direct_ = false;
    const int flags = ::fcntl(file_.number(), F_GETFL);
    (void)::fcntl(file_.number(), F_SETFL, flags & ~O_DIRECT);
  }

  const std::string path_;
  Descriptor file_;
  const Buffer buffer_;
  size_t used_ = 0;
  bool is_direct_ = true;
};

}  // namespace

Result<std::unique_ptr<WritableFile>> CreateDirectFile(const Place& place) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  const std::string& path = place.path();
  auto file = place.Open("create", kFlags | O_DIRECT, 0644);
  // Some file systems, such as in-memory ones, refuse O_DIRECT.
  if (!file.ok()) file = place.Open("create", kFlags, 0644);
  if (!file.ok()) return file.status();
  Buffer buffer(
      static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes)));
  if (buffer == nullptr) return FileError("create", path, ENOMEM);
  return std::unique_ptr<WritableFile>(
      std::make_unique<DirectFile>(path, std::move(*file), std::move(buffer)));
}

}  // namespace persia
