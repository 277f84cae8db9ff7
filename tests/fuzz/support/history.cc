#include "tests/fuzz/support/history.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/fuzz/support/frames_input.h"
#include "tests/fuzz/support/fuzz_check.h"

namespace persia {

History::History(const char* path, size_t bytes) : capacity_(bytes) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  FuzzCheck(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0,
            "the history's file can be written");
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  FuzzCheck(memory != MAP_FAILED, "the history's file can be mapped");
  memory_ = static_cast<uint8_t*>(memory);
  close(file);
}

void History::Clear() {
  std::memset(memory_, 0, size_);
  size_ = 0;
}

bool History::Add(const SampleMessage& message) {
  const size_t bytes = FrameBytes(message);
  if (bytes > capacity_ - size_) return false;
  WriteFrame(message, memory_ + size_);
  size_ += bytes;
  return true;
}

}  // namespace persia
