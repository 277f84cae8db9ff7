// Descriptor: owns a file descriptor. Also the errors of system calls on files.

#ifndef PERSIA_CC_FILES_DESCRIPTOR_H_
#define PERSIA_CC_FILES_DESCRIPTOR_H_

#include <cerrno>
#include <string>
#include <utility>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// The error of the system call that has just failed: "cannot WHAT PATH: ...".
Status FileError(const char* what, const std::string& path, int error = errno);

// Its destructor closes the descriptor.
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

// Writes all of `bytes`. Returns 0, or the errno of the write that failed. Sets
// `*written` to the number of bytes written, after an error too.
int WriteAll(const Descriptor& file, Span<const uint8_t> bytes,
             size_t* written);

}  // namespace persia

#endif  // PERSIA_CC_FILES_DESCRIPTOR_H_
