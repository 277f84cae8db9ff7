// Status and Result: the types by which every module reports failure. No
// exception crosses the boundary of a module in cc/, and no bad input aborts
// the process.
//
// Thread-safety: plain values, no shared state.

#ifndef PERSIA_CC_BASE_STATUS_H_
#define PERSIA_CC_BASE_STATUS_H_

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

namespace persia {

// These codes have the numbers of gRPC and TensorFlow, so a cast converts them.
// The codes travel on the wire, so they must never be renumbered.
enum class Code : uint32_t {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  // Another shard owns the slots of a request: the sender must route it anew.
  // (gRPC's ABORTED.)
  kMoved = 10,
  // The process is a standby, which serves nothing yet: a client never shows
  // this code, but looks for the shard elsewhere. (gRPC's OUT_OF_RANGE.)
  kStandby = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// Joins its arguments as text: Concat("dim is ", 0) == "dim is 0".
template <typename... Args>
std::string Concat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args>
Status InvalidArgument(const Args&... args) {
  return Status(Code::kInvalidArgument, Concat(args...));
}

// Holds a T, or the Status that explains why there is no T.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT: implicit
  Result(Status status) : state_(std::move(status)) {}  // NOLINT: implicit

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }

  // Precondition: ok().
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace persia

#define PERSIA_RETURN_IF_ERROR(expression)           \
  do {                                               \
    ::persia::Status persia_status_ = (expression);  \
    if (!persia_status_.ok()) return persia_status_; \
  } while (false)

#endif  // PERSIA_CC_BASE_STATUS_H_
