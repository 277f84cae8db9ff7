// Descriptor: owns a file descriptor. FileError: makes the error of a failed
// system call on a file.

#ifndef PERSIA_CC_FILES_DESCRIPTOR_H_
#define PERSIA_CC_FILES_DESCRIPTOR_H_

#include <cerrno>
#include <string>
#include <utility>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Returns the error of the system call that has just failed, with the message
// "cannot WHAT PATH: ...".
Status FileError(const char* what, const std::string& path, int error = errno);

// Owns a file descriptor, which the destructor closes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { Close(); }

  int number() const { return number_; }
  int Close();

 private:
  int number_;
};

// Writes all of `bytes`. Returns 0, or the errno of the write that failed. In
// both cases sets `*written` to the number of bytes written.
int WriteAll(const Descriptor& file, Span<const uint8_t> bytes,
             size_t* written);

}  // namespace persia

#endif  // PERSIA_CC_FILES_DESCRIPTOR_H_
