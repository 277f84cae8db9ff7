// ReplyBudget: a limit on the bytes that the requests and replies of all
// connections take together, from before the work on a request until its reply
// is written.
//
// Requests are short, medium or long, and each of these sizes has its own part
// of the budget, so that short requests do not wait behind clients that do not
// read long replies. A request without room in its part waits; each part grants
// room in the order of arrival.
//
// Thread-safe; no method blocks.

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
  // Requests of up to kShortBytes are short; longer ones, up to a 64th of the
  // total, are medium; all others are long.
  static constexpr uint64_t kShortBytes = uint64_t{16} << 10;

  // The bytes that are granted to one request. The destructor releases them.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept { *this = std::move(other); }
    Charge& operator=(Charge&& other) noexcept;
    ~Charge() { GiveBack(); }

    uint64_t bytes() const { return bytes_; }

    // Returns false and changes nothing if there is no room for the increase.
    bool TryResize(uint64_t bytes);

    // Resizes even if there is no room for the increase.
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

  // Reserves `bytes`. Returns 0 if the bytes could be reserved at once.
  // Otherwise the request waits: Take returns a number for Cancel, and
  // `granted` is called, on any thread, once the bytes are reserved; `granted`
  // must only post a task. A request larger than its whole part waits until
  // nothing else of that part is reserved. Call Given once the bytes are
  // reserved.
  uint64_t Take(uint64_t bytes, std::function<void()> granted);

  // Returns a Charge for bytes that Take has reserved.
  Charge Given(uint64_t bytes);

  // Cancels a request that waits, or releases bytes that were reserved for it
  // but not yet passed to Given.
  void Cancel(uint64_t number, uint64_t bytes);

  bool has_waiters() const { return waiter_count_ > 0; }

  // The bytes that are reserved now.
  uint64_t taken();

 private:
  struct Waiter {
    uint64_t number;
    uint64_t bytes;
    std::function<void()> granted;
  };
  // The part of the budget for requests of one size.
  struct Part {
    bool HasRoom(uint64_t bytes) const {
      return taken == 0 || (taken <= room && bytes <= room - taken);
    }

    uint64_t most_bytes;  // Size limit of the requests in this part.
    uint64_t room;
    uint64_t taken = 0;
    std::deque<Waiter> waiters = {};
  };
  using Grants = std::vector<std::function<void()>>;

  size_t PartOf(uint64_t bytes) const;
  bool TryMove(size_t from, uint64_t old_bytes, size_t to, uint64_t bytes,
               bool anyway);
  void GiveBack(size_t part, uint64_t bytes);
  Grants Grant(Part* part);  // Requires mutex_.

  const uint64_t total_bytes_;
  std::atomic<uint64_t> waiter_count_{0};
  std::mutex mutex_;
  // Everything below is guarded by mutex_.
  uint64_t last_number_ = 0;
  std::array<Part, 3> parts_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_REPLY_BUDGET_H_
