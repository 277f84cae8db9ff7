// When memory runs out, a step fails and the program goes on. A global operator
// new makes large allocations fail; sanitizers have an operator new of their
// own.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/cc/pipeline/session_fixture.h"

namespace {

std::atomic<size_t> most_bytes{SIZE_MAX};

}  // namespace

void* operator new(size_t size) {
  void* const memory = size > most_bytes ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace persia {
namespace {

// While it lives, every larger allocation fails, on every thread.
class AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes) { most_bytes = bytes; }
  ~AllocationLimit() { most_bytes = SIZE_MAX; }
};

constexpr size_t kLimit = size_t{1} << 20;
constexpr size_t kManyIds = kLimit;   // Over the limit by themselves;
constexpr size_t kFewIds = 1024;      // and these,
constexpr uint32_t kLargeDim = 1024;  // with rows this long.

std::vector<int64_t> Ids(size_t count) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

class OutOfMemoryTest : public SessionFixture {
 protected:
  static LayerCall Call(uint32_t dim) {
    LayerCall call;
    call.layer = "a";
    call.table = kTable;
    call.dim = dim;
    call.training = true;
    return call;
  }

  static void ExpectExhausted(const Status& status) {
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.message();
    ExpectMessage(status, "out of memory");
  }

  // Expects later steps to work as before.
  void ExpectThatStepsGoOn() {
    ExpectOk(Step("later", {1}).status());
    ExpectOk(session_->Flush());
  }
};

TEST_F(OutOfMemoryTest, ABatchOfTooManyIdsFailsItsLookup) {
  const std::vector<int64_t> ids = Ids(kManyIds);
  LayerCall call = Call(1);
  call.ids = ids;
  {
    const AllocationLimit limit(kLimit);
    ExpectExhausted(session_->Issue(call).status());
  }
  ExpectThatStepsGoOn();
}

TEST_F(OutOfMemoryTest, ABatchOfTooManyIdsIsNotRegistered) {
  const std::vector<int64_t> ids = Ids(kManyIds);
  const auto stream = session_->OpenStream({});
  ASSERT_TRUE(stream.ok());
  std::vector<PrefetchIds> layers(1);
  layers[0].layer = "a";
  layers[0].table = kTable;
  layers[0].dim = 1;
  layers[0].ids = ids;
  {
    const AllocationLimit limit(kLimit);
    ExpectExhausted(session_->Prefetch(*stream, std::move(layers)));
  }
  EXPECT_EQ(session_->Counters().batches_registered, 0u);
  ExpectThatStepsGoOn();
}

TEST_F(OutOfMemoryTest, RowsThatAreTooManyFailTheirLookup) {
  const std::vector<int64_t> ids = Ids(kFewIds);
  LayerCall call = Call(kLargeDim);
  call.ids = ids;
  std::vector<float> rows(kFewIds * kLargeDim);
  Outcome outcome;
  {
    const AllocationLimit limit(kLimit);
    const auto issued = session_->Issue(call);
    ASSERT_TRUE(issued.ok()) << issued.status().message();
    session_->Fetch(issued->lookup, rows, outcome.done());
    ExpectExhausted(outcome.status());
  }
  ExpectThatStepsGoOn();
}

TEST_F(OutOfMemoryTest, SoDoThoseThatWaitedForAnUpdate) {
  MakeSession(/*staleness=*/0);
  HeldStep("a", {1});
  LayerCall call = Call(kLargeDim);
  call.layer = "b";
  const auto lookup = Start(call, Ids(kFewIds));
  {
    const AllocationLimit limit(kLimit);
    control_->CompleteUpdate();
    ExpectExhausted(lookup->outcome.status());
  }
  control_->HoldUpdates(false);
  ExpectThatStepsGoOn();
}

TEST_F(OutOfMemoryTest, GradientsThatCannotBeSummedAreReported) {
  std::vector<int64_t> ids = Ids(kFewIds);
  ids.push_back(0);  // Without duplicates nothing is summed.
  const auto lookup = Start(Call(kLargeDim), ids);
  ExpectOk(lookup->outcome.status());
  ExpectOk(session_->Stage(
      "a", lookup->ticket,
      MakeGradients(std::vector<float>(ids.size() * kLargeDim, 1.0f))));
  {
    const AllocationLimit limit(kLimit);
    ExpectOk(Commit("a").status());
    ExpectExhausted(session_->Flush());
  }
  EXPECT_EQ(control_->updates(), 0u);
  EXPECT_EQ(session_->Counters().updates_pending, 0u);
  ExpectThatStepsGoOn();
}

}  // namespace
}  // namespace persia

#endif
