// Descriptor: a file that this process has open, and the errors of its calls.

#ifndef PERSIA_CC_FILES_DESCRIPTOR_H_
#define PERSIA_CC_FILES_DESCRIPTOR_H_

#include <cerrno>
#include <string>
#include <utility>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Of the call that has just failed: "cannot WHAT PATH: ...".
Status FileError(const char* what, const std::string& path, int error = errno);

// Closes what it opened.
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

// Writes all of `bytes`; 0, or the errno of what failed. `*written` is how many
// were, also then.
int WriteAll(const Descriptor& file, Span<const uint8_t> bytes,
             size_t* written);

}  // namespace persia

#endif  // PERSIA_CC_FILES_DESCRIPTOR_H_
