// Shards that are killed at each state of a move of slots.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/service/forwarding_service.h"
#include "tests/cc/client/moving_fixture.h"
#include "tests/cc/client/trainer.h"

namespace persia {
namespace {

// Stops a move at one of its states: the taker waits there until the test lets
// it go on, or cuts it off from the owner of the slots.
class Breakpoint {
 public:
  // The move stops when it comes to this state for the first time.
  void Set(const std::string& state) {
    std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
    is_reached_ = is_cut_ = false;
  }

  // Called by the move. Returns whether it may go on.
  bool Reach(const std::string& state) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (state == state_) {
      is_reached_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return state_.empty(); });
    }
    return !is_cut_;
  }

  void AwaitMove() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return is_reached_; });
  }

  // Lets the move go on; or, if `cuts`, lets all of its calls fail until Set.
  void Release(bool cuts) {
    std::lock_guard<std::mutex> lock(mutex_);
    is_cut_ = cuts;
    state_.clear();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  std::string state_;
  bool is_reached_ = false;
  bool is_cut_ = false;
};

const char* NameOf(HandOverStep step) {
  switch (step) {
    case HandOverStep::kAsk:
      return "ask";
    case HandOverStep::kHold:
      return "hold";
    case HandOverStep::kCommit:
      return "commit";
    case HandOverStep::kRelease:
      return "release";
    case HandOverStep::kEnd:
      return "end";
  }
  return "";
}

// The owner of slots, as the shard that takes them over sees it.
class WatchedOwner : public ForwardingService {
 public:
  WatchedOwner(std::unique_ptr<EmbeddingService> owner, Breakpoint* breakpoint)
      : ForwardingService(std::move(owner)), breakpoint_(*breakpoint) {}
  ~WatchedOwner() override { EndInner(); }

  void HandOver(HandOverRequest* request, DoneCallback done) override {
    if (request->step == HandOverStep::kHold) holds_ = true;
    Forward(NameOf(request->step), std::move(done), [&](DoneCallback then) {
      inner()->HandOver(request, std::move(then));
    });
  }

  void Changes(ChangesRequest* request, DoneCallback done) override {
    // So that there is another copy before slots are held.
    if (request->position.epoch == 0) request->max_rows = 3;
    const char* const name = holds_                         ? "last copy"
                             : request->position.epoch == 0 ? "first copy"
                                                            : "next copy";
    Forward(name, std::move(done), [&](DoneCallback then) {
      inner()->Changes(request, std::move(then));
    });
  }

 private:
  template <typename Call>
  void Forward(const std::string& name, DoneCallback done, const Call& call) {
    const Status lost(Code::kUnavailable, "cut off");
    if (!breakpoint_.Reach("before " + name)) return done(lost);
    call([this, lost, name, done = std::move(done)](const Status& status) {
      done(breakpoint_.Reach("after " + name) ? status : lost);
    });
  }

  Breakpoint& breakpoint_;
  std::atomic<bool> holds_{false};
};

const std::vector<std::string>& States() {
  static const auto* const states = new std::vector<std::string>{
      "before ask",       "after ask",        "before first copy",
      "after first copy", "before next copy", "after next copy",
      "before hold",      "after hold",       "before last copy",
      "after last copy",  "before commit",    "after commit",
      "before release",   "after release",    "before end",
      "after end"};
  return *states;
}

enum class Killed { kSource, kTaker, kBoth };

// Moves slots, with several kills at one of its states.
class KilledMovesTest : public testing::TestWithParam<std::string> {
 protected:
  KilledMovesTest()
      : cluster_(3, 2, /*durable=*/true,
                 [this](std::unique_ptr<EmbeddingService> owner) {
                   return std::make_unique<WatchedOwner>(std::move(owner),
                                                         &breakpoint_);
                 }) {
    AssignRows(cluster_.client(), kUser, ids_, 5.0f);
    before_ = LookUpRows(cluster_.client(), kUser, ids_);
  }
  ~KilledMovesTest() override { breakpoint_.Release(/*cuts=*/false); }

  void Kill(Killed killed) {
    MovingShard& source = cluster_.shard(0);
    MovingShard& taker = cluster_.shard(2);
    // The threads of a shard that is stopped wait for calls that are stopped.
    const auto cut = [this] { breakpoint_.Release(/*cuts=*/true); };
    if (killed == Killed::kSource) {
      source.Stop();
      cut();
    } else if (cluster_.SlotsOf(2).any()) {
      cut();  // The taker acknowledges updates already.
      taker.Stop();
    } else {
      taker.Kill(cut);
    }
    if (killed == Killed::kBoth) source.Stop();
    breakpoint_.Set("");
    if (killed != Killed::kTaker) source.Start();
    if (killed != Killed::kSource) taker.Start();
  }

  // Starts a move again until it has ended well.
  void Finish(const SlotSet& slots, size_t source, size_t taker) {
    for (;;) {
      const Status started = cluster_.StartMove(slots, source, taker);
      ASSERT_TRUE(started.ok()) << started.message();
      const MoveProgress progress = cluster_.AwaitMove(taker);
      if (progress.outcome.ok()) return;
    }
  }

  // As a driver does: all shards know of the last move.
  void TellAll(size_t newest) {
    const SharedTopology topology =
        cluster_.shard(newest).service()->CurrentTopology();
    for (size_t i = 0; i < 3; ++i) {
      ExchangeWith(cluster_.shard(i).service(), topology.get());
    }
  }

  Breakpoint breakpoint_;
  MovingCluster cluster_;
  const std::vector<int64_t> ids_ = FirstIds(500);
  std::vector<float> before_;
};

TEST_P(KilledMovesTest, LosesAndDoublesNothing) {
  const std::vector<std::string> addresses = {cluster_.shard(1).address()};
  Trainer trainer(addresses, ids_, 1);
  for (const Killed killed : {Killed::kSource, Killed::kTaker, Killed::kBoth}) {
    const SlotSet slots = FirstSlots(cluster_.SlotsOf(0), 1000);
    breakpoint_.Set(GetParam());
    const Status started = cluster_.StartMove(slots, 0, 2);
    ASSERT_TRUE(started.ok()) << started.message();
    breakpoint_.AwaitMove();
    Kill(killed);
    Finish(slots, 0, 2);
    EXPECT_EQ(cluster_.SlotsOf(2), slots);
    TellAll(2);
    Finish(slots, 2, 0);
    TellAll(0);
  }
  trainer.Stop();
  EXPECT_GT(trainer.updates(), 3u);
  ExpectValues(cluster_.client(), ids_, before_, trainer.updates());
  ExpectEveryRowOnItsOwner(&cluster_, 3, ids_.size());
}

std::string TestName(const testing::TestParamInfo<std::string>& state) {
  std::string name = state.param;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(States, KilledMovesTest, testing::ValuesIn(States()),
                         TestName);

}  // namespace
}  // namespace persia
