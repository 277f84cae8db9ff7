// ReplyBudget: bytes that the requests and replies of all connections may take
// together, from before a request is worked on until its reply is written.
//
// Requests are of three sizes, and each size has a part of it to itself: so
// short ones do not wait for those who read no long replies. What its part has
// no room for waits, and gets it in the order in which it came.
//
// Thread-safe; nothing blocks.

#ifndef PERSIA_CC_SERVER_REPLY_BUDGET_H_
#define PERSIA_CC_SERVER_REPLY_BUDGET_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace persia {

class ReplyBudget : public std::enable_shared_from_this<ReplyBudget> {
 public:
  // Up to so much a request is short; up to a 64th of all it is medium.
  static constexpr uint64_t kShortBytes = uint64_t{16} << 10;

  // What a request has been given, and gives back with its end.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept { *this = std::move(other); }
    Charge& operator=(Charge&& other) noexcept;
    ~Charge() { GiveBack(); }

    uint64_t bytes() const { return bytes_; }

    // False, with nothing changed, if there is no room for so much more.
    bool TryResize(uint64_t bytes);

    // Also if there is no room.
    void Resize(uint64_t bytes);

   private:
    friend class ReplyBudget;
    void GiveBack();

    std::shared_ptr<ReplyBudget> budget_;
    size_t part_ = 0;
    uint64_t bytes_ = 0;
  };

  explicit ReplyBudget(uint64_t total_bytes);

  uint64_t total_bytes() const { return total_bytes_; }

  // Takes `bytes`. 0 if it has them now; else a number for Cancel, and
  // `granted` is called once it has, on any thread, and must only post: what is
  // more than the whole part gets room when nobody else has any of it. Then
  // Given is to be called.
  uint64_t Take(uint64_t bytes, std::function<void()> granted);

  // What was taken.
  Charge Given(uint64_t bytes);

  // Of what waits, or was granted and not Given.
  void Cancel(uint64_t number, uint64_t bytes);

  bool has_waiters() const { return waiter_count_ > 0; }

  // What is taken now.
  uint64_t taken();

 private:
  struct Waiter {
    uint64_t number;
    uint64_t bytes;
    std::function<void()> granted;
  };
  // For requests of one size.
  struct Part {
    bool HasRoom(uint64_t bytes) const {
      return taken == 0 || (taken <= room && bytes <= room - taken);
    }

    uint64_t most_bytes;  // Of a request.
    uint64_t room;
    uint64_t taken = 0;
    std::deque<Waiter> waiters = {};
  };
  using Grants = std::vector<std::function<void()>>;

  size_t PartOf(uint64_t bytes) const;
  bool TryMove(size_t from, uint64_t old_bytes, size_t to, uint64_t bytes,
               bool anyway);
  void GiveBack(size_t part, uint64_t bytes);
  Grants Grant(Part* part);  // Expects the lock.

  const uint64_t total_bytes_;
  std::atomic<uint64_t> waiter_count_{0};
  std::mutex mutex_;
  // All below are guarded by mutex_.
  uint64_t last_number_ = 0;
  std::array<Part, 3> parts_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_REPLY_BUDGET_H_
