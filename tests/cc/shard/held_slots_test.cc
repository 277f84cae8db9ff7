#include "cc/shard/held_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tests/cc/store/slot_calls.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

// As long as no test takes.
constexpr double kLong = 3600;

// A request for one slot, which tells when it goes on.
class Request {
 public:
  explicit Request(uint32_t slot) : slot_(slot) {}

  // Whether the request waits.
  bool Park(HeldSlots* held) {
    return held->Park([this](const SlotSet& slots) { return slots[slot_]; },
                      [this] {
                        thread_ = std::this_thread::get_id();
                        went_on_.set_value();
                      });
  }

  bool went_on() const {
    return future_.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }
  void Wait() const {
    EXPECT_EQ(future_.wait_for(kHang), std::future_status::ready);
  }
  // The thread on which the request went on.
  std::thread::id thread() const { return thread_; }

 private:
  const uint32_t slot_;
  std::promise<void> went_on_;
  const std::future<void> future_ = went_on_.get_future();
  std::thread::id thread_;
};

uint64_t Hold(HeldSlots* held, const SlotSet& slots, double seconds = kLong) {
  const auto hold = held->Hold(slots, seconds);
  EXPECT_TRUE(hold.ok()) << hold.status().message();
  return *hold;
}

TEST(HeldSlotsTest, NothingWaitsUnlessItsSlotsAreHeld) {
  HeldSlots held;
  Request request(3), other(10);
  EXPECT_FALSE(held.any());
  EXPECT_FALSE(request.Park(&held));
  Hold(&held, SlotRange(0, 10));
  EXPECT_TRUE(held.any());
  EXPECT_FALSE(other.Park(&held));
  EXPECT_TRUE(request.Park(&held));
  EXPECT_FALSE(request.went_on());
}

TEST(HeldSlotsTest, ReleaseLetsTheRequestsOfItsHoldGoOn) {
  HeldSlots held;
  const uint64_t first = Hold(&held, SlotRange(0, 10));
  const uint64_t second = Hold(&held, SlotRange(10, 20));
  EXPECT_NE(first, second);
  Request a(0), b(9), c(10);
  for (Request* request : {&a, &b, &c}) ASSERT_TRUE(request->Park(&held));
  held.Release(first);
  EXPECT_TRUE(a.went_on());
  EXPECT_TRUE(b.went_on());
  EXPECT_EQ(a.thread(), std::this_thread::get_id());
  EXPECT_FALSE(c.went_on());
  EXPECT_TRUE(held.any());
  // What came first goes on only once.
  held.Release(first);
  Request again(0);
  EXPECT_FALSE(again.Park(&held));
  held.Release(second);
  EXPECT_TRUE(c.went_on());
  EXPECT_FALSE(held.any());
}

// As the service does: the slots may be held again meanwhile.
TEST(HeldSlotsTest, ARequestThatGoesOnMayWaitAgain) {
  HeldSlots held;
  Request request(0);
  uint64_t second = 0;
  const uint64_t first = Hold(&held, SlotRange(0, 10));
  ASSERT_TRUE(held.Park([](const SlotSet&) { return true; },
                        [&] {
                          second = Hold(&held, SlotRange(0, 10));
                          EXPECT_TRUE(request.Park(&held));
                        }));
  held.Release(first);
  EXPECT_FALSE(request.went_on());
  held.Release(second);
  EXPECT_TRUE(request.went_on());
}

TEST(HeldSlotsTest, SlotsAreHeldForOneTakerAtATime) {
  HeldSlots held;
  const uint64_t hold = Hold(&held, SlotRange(0, 10));
  for (const SlotSet& slots : {SlotRange(0, 10), SlotRange(9, 12)}) {
    EXPECT_EQ(held.Hold(slots, kLong).status().code(),
              Code::kFailedPrecondition);
  }
  Hold(&held, SlotRange(10, 12));
  held.Release(hold);
  Hold(&held, SlotRange(0, 10));
}

// Holds slots for a short time, with a request that waits for them. However
// slow this machine is, the request comes while some hold lasts.
uint64_t HoldShortly(HeldSlots* held, const SlotSet& slots, Request* request) {
  for (double seconds = 0.01;; seconds *= 2) {
    const uint64_t hold = Hold(held, slots, seconds);
    if (request->Park(held)) return hold;
  }
}

// The hold is made while another one lasts that ends later.
TEST(HeldSlotsTest, AHoldEndsInTime) {
  HeldSlots held;
  const uint64_t other = Hold(&held, SlotRange(10, 20));
  Request request(0), others(10);
  ASSERT_TRUE(others.Park(&held));
  const uint64_t hold = HoldShortly(&held, SlotRange(0, 10), &request);
  request.Wait();
  EXPECT_NE(request.thread(), std::this_thread::get_id());
  EXPECT_FALSE(held.Keep(hold, SlotRange(0, 10)));
  held.Release(hold);
  EXPECT_FALSE(Request(0).Park(&held));
  EXPECT_FALSE(others.went_on());
  EXPECT_TRUE(held.Keep(other, SlotRange(10, 20)));
  Hold(&held, SlotRange(0, 10));
}

TEST(HeldSlotsTest, AHoldThatIsKeptEndsByReleaseAlone) {
  HeldSlots held;
  uint64_t kept = 0;
  double seconds = 0.01;
  for (;; seconds *= 2) {
    kept = Hold(&held, SlotRange(0, 10), seconds);
    if (held.Keep(kept, SlotRange(0, 10))) break;
  }
  Request request(0), later(10);
  ASSERT_TRUE(request.Park(&held));
  // A hold that began later, for as long or longer, ends in time.
  while (!later.Park(&held)) {
    Hold(&held, SlotRange(10, 20), seconds);
    seconds *= 2;
  }
  later.Wait();
  EXPECT_FALSE(request.went_on());
  EXPECT_TRUE(held.Keep(kept, SlotRange(0, 10)));
  held.Release(kept);
  EXPECT_TRUE(request.went_on());
}

TEST(HeldSlotsTest, OnlyTheHoldOfTheseSlotsIsKept) {
  HeldSlots held;
  const uint64_t hold = Hold(&held, SlotRange(0, 10));
  EXPECT_FALSE(held.Keep(hold, SlotRange(0, 9)));
  EXPECT_FALSE(held.Keep(hold, SlotRange(0, 11)));
  EXPECT_FALSE(held.Keep(hold + 1, SlotRange(0, 10)));
  EXPECT_TRUE(held.Keep(hold, SlotRange(0, 10)));
  held.Release(hold);
  EXPECT_FALSE(held.Keep(hold, SlotRange(0, 10)));
}

TEST(HeldSlotsTest, TheDestructorLetsAllGoOn) {
  Request a(0), b(1), c(10);
  auto held = std::make_unique<HeldSlots>();
  Hold(held.get(), SlotRange(0, 10));
  const uint64_t kept = Hold(held.get(), SlotRange(10, 20));
  ASSERT_TRUE(held->Keep(kept, SlotRange(10, 20)));
  for (Request* request : {&a, &b, &c}) {
    ASSERT_TRUE(request->Park(held.get()));
  }
  held = nullptr;
  for (const Request* request : {&a, &b, &c}) EXPECT_TRUE(request->went_on());
}

TEST(HeldSlotsTest, NothingIsHeldAfterTheEnd) {
  HeldSlots held;
  Request request(0), later(0);
  Hold(&held, SlotRange(0, 10));
  ASSERT_TRUE(request.Park(&held));
  held.End();
  EXPECT_TRUE(request.went_on());
  EXPECT_EQ(held.Hold(SlotRange(0, 10), kLong).status().code(),
            Code::kFailedPrecondition);
  EXPECT_FALSE(later.Park(&held));
}

TEST(HeldSlotsTest, EachRequestGoesOnOnceWhateverThreadsDo) {
  std::atomic<int> waited{0}, went_on{0};
  std::atomic<bool> ended{false};
  {
    HeldSlots held;
    RunInThreads([&](int thread) {
      if (thread > 0) {
        const auto touches = [&](const SlotSet& slots) {
          return slots[thread];
        };
        while (!ended) waited += held.Park(touches, [&] { ++went_on; });
        return;
      }
      // Every other hold is left to the time, or to the destructor.
      for (uint32_t i = 0; waited < 300; ++i) {
        const auto hold = held.Hold(SlotRange(i % 4, i % 4 + 1), i % 3 * 1e-3);
        std::this_thread::yield();
        if (hold.ok() && i % 2 == 0) held.Release(*hold);
      }
      ended = true;
    });
  }
  EXPECT_GE(waited, 300);
  EXPECT_EQ(went_on, waited);
}

}  // namespace
}  // namespace persia
