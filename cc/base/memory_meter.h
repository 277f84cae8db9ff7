// MemoryMeter: counts the memory that several owners (such as tables) use
// together, and limits the sum.
//
// An owner reports to the meter before it allocates more memory, so the meter
// costs nothing while memory use does not grow. Only AddAnyway may exceed the
// limit. Thread-safe; never blocks.

#ifndef PERSIA_CC_BASE_MEMORY_METER_H_
#define PERSIA_CC_BASE_MEMORY_METER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace persia {

// Derives from std::bad_alloc, so that a handler of std::bad_alloc also catches
// MemoryLimitReached.
class MemoryLimitReached : public std::bad_alloc {
 public:
  MemoryLimitReached(uint64_t limit, uint64_t used)
      : limit_(limit), used_(used) {}

  // Returns a copy of the exception that names the owner that needed the
  // memory, such as "table \"user\"".
  MemoryLimitReached For(const std::string& owner) const {
    MemoryLimitReached named = *this;
    named.owner_ = owner;
    return named;
  }

  const std::string& owner() const { return owner_; }

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }
  const char* what() const noexcept override { return "memory limit reached"; }

 private:
  uint64_t limit_;
  uint64_t used_;
  std::string owner_;
};

class MemoryMeter {
 public:
  static constexpr uint64_t kUnlimited = ~uint64_t{0} >> 1;

  explicit MemoryMeter(uint64_t limit_bytes = kUnlimited)
      : limit_(limit_bytes) {}
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(uint64_t bytes) {
    limit_.store(bytes, std::memory_order_relaxed);
  }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  // Counts `bytes`. If the sum would exceed the limit, throws
  // MemoryLimitReached and counts nothing.
  void Add(size_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit()) return;
    Remove(bytes);
    throw MemoryLimitReached(limit(), before);
  }

  // Counts `bytes` even if the sum then exceeds the limit.
  void AddAnyway(size_t bytes) {
    used_.fetch_add(bytes, std::memory_order_relaxed);
  }

  void Remove(size_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> used_{0};
};

// The bytes of one owner in a MemoryMeter; the destructor subtracts them from
// the meter. Not thread-safe.
class MeteredBytes {
 public:
  // What Grow does when the meter's limit is reached: throw, or exceed the
  // limit.
  enum class AtLimit { kThrow, kGrow };

  // If `meter` is null, nothing is counted. A meter that is not null must
  // outlive this object.
  explicit MeteredBytes(MemoryMeter* meter, AtLimit at_limit = AtLimit::kThrow)
      : meter_(meter), at_limit_(at_limit) {}
  ~MeteredBytes() { Shrink(bytes_); }
  // Moving transfers the counted bytes; the moved-from object counts none.
  MeteredBytes(MeteredBytes&& other) noexcept
      : meter_(other.meter_),
        at_limit_(other.at_limit_),
        bytes_(std::exchange(other.bytes_, 0)) {}
  MeteredBytes& operator=(MeteredBytes&& other) noexcept {
    Shrink(bytes_);
    meter_ = other.meter_;
    at_limit_ = other.at_limit_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  // Counts `bytes`, then calls `make`, which allocates them, and returns the
  // result of `make`. If the limit is reached, throws MemoryLimitReached
  // without calling `make`. If `make` throws, the exception is rethrown. In
  // both cases nothing is counted.
  template <typename Make>
  auto Grow(size_t bytes, const Make& make) -> decltype(make()) {
    Count(bytes);
    bytes_ += bytes;
    try {
      return make();
    } catch (...) {
      Shrink(bytes);
      throw;
    }
  }

  // Call this when the owner has freed `bytes` of its memory.
  void Shrink(size_t bytes) {
    bytes_ -= bytes;
    if (meter_ != nullptr) meter_->Remove(bytes);
  }

 private:
  void Count(size_t bytes) {
    if (meter_ == nullptr) return;
    at_limit_ == AtLimit::kThrow ? meter_->Add(bytes)
                                 : meter_->AddAnyway(bytes);
  }

  MemoryMeter* meter_;
  AtLimit at_limit_;
  size_t bytes_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_MEMORY_METER_H_
