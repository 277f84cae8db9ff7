// MemoryMeter: how much memory some owners hold together, and the most that
// they may.
//
// They tell it when they grow, before they take the memory; so nobody pays who
// does not. The limit is passed only by those who say so. Thread-safe; never
// blocks.

#ifndef PERSIA_CC_BASE_MEMORY_METER_H_
#define PERSIA_CC_BASE_MEMORY_METER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace persia {

// A std::bad_alloc, so that who is prepared for one is for this.
class MemoryLimitReached : public std::bad_alloc {
 public:
  MemoryLimitReached(uint64_t limit, uint64_t used)
      : limit_(limit), used_(used) {}

  // The same, with who needed the memory: "table \"user\"".
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

  // Throws MemoryLimitReached, and counts nothing, where there is no room.
  void Add(size_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit()) return;
    Remove(bytes);
    throw MemoryLimitReached(limit(), before);
  }

  // Adds them even where there is no room.
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

// One owner's part, which goes with it. Not thread-safe.
class MeteredBytes {
 public:
  // What Grow does where there is no room.
  enum class AtLimit { kThrow, kGrow };

  // Counts nothing if `meter` is null; else it must outlive this.
  explicit MeteredBytes(MemoryMeter* meter, AtLimit at_limit = AtLimit::kThrow)
      : meter_(meter), at_limit_(at_limit) {}
  ~MeteredBytes() { Shrink(bytes_); }
  // What was moved from has none.
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

  // What `make` returns, which takes `bytes` of memory. Throws what it throws,
  // or MemoryLimitReached before it is called, and counts nothing then.
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

  // Some of it was given back.
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
