// MemoryMeter: counts the memory that several owners hold together, and limits
// it.
//
// An owner reports its growth before it allocates, so the meter costs nothing
// while nothing grows. Only growth by AddAnyway may exceed the limit.
// Thread-safe; never blocks.

#ifndef PERSIA_CC_BASE_MEMORY_METER_H_
#define PERSIA_CC_BASE_MEMORY_METER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace persia {

// Derives from std::bad_alloc, so that code which handles that handles this.
class MemoryLimitReached : public std::bad_alloc {
 public:
  MemoryLimitReached(uint64_t limit, uint64_t used)
      : limit_(limit), used_(used) {}

  // A copy that names the owner that needed the memory: "table \"user\"".
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

  // Throws MemoryLimitReached, and counts nothing, if that exceeds the limit.
  void Add(size_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit()) return;
    Remove(bytes);
    throw MemoryLimitReached(limit(), before);
  }

  // Counts them even if that exceeds the limit.
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

// One owner's bytes in a meter; the destructor removes them. Not thread-safe.
class MeteredBytes {
 public:
  // What Grow does at the limit: throw, or exceed it.
  enum class AtLimit { kThrow, kGrow };

  // Counts nothing if `meter` is null; else it must outlive this.
  explicit MeteredBytes(MemoryMeter* meter, AtLimit at_limit = AtLimit::kThrow)
      : meter_(meter), at_limit_(at_limit) {}
  ~MeteredBytes() { Shrink(bytes_); }
  // The moved-from object has no bytes.
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

  // Counts `bytes`, calls `make`, which allocates them, and returns what it
  // returns. Throws what `make` throws, or MemoryLimitReached before it calls
  // `make`; in both cases nothing is counted.
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

  // The owner has freed `bytes` of its memory.
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
