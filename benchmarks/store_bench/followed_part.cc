#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"
#include "benchmarks/support/fail.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

std::unique_ptr<RowFeed> FollowFromNow(Table* table) {
  auto feed = table->Follow(FeedStart::kNow);
  CheckOk(feed.status());
  return std::move(*feed);
}

// Takes the changes that a request made; checks that they are all of its rows.
void TakeAll(const Requests& requests, RowFeed* feed, RowDelta* delta) {
  delta->ids.clear();
  delta->weights.clear();
  while (feed->Take(requests.batch(), delta)) {
  }
  if (delta->size() != requests.batch()) {
    Fail("a follower was not told of every row that was trained");
  }
}

}  // namespace

// One thread does all the work, so that the measured cost of following includes
// all work of the store: recording which rows change, and reading them.
void RunFollowedPart(const Options& options) {
  const auto table = MakeAdagradTable();
  Fill(options, 0, options.small_rows, table.get());
  Requests requests(
      {options.small_rows, options.batch, options.requests, options.seed});
  HugeArray row_memory(options.batch * kAdagradStride / 2);
  const Span<float> rows(row_memory.floats(), options.batch * kAdagradDim);
  const std::vector<float> gradients(rows.size(), 0.001f);
  const Body step = [&](int) {
    requests.Advance();
    table->Lookup(requests.ids(), /*read_only=*/false, rows);
    table->Update(requests.ids(), gradients, /*learning_rate=*/0.05f);
    return requests.batch();
  };
  std::vector<double> followed, alone;
  for (int round = 0; round < options.rounds; ++round) {
    alone.push_back(RowsPerSecond(1, options.seconds, step));
    const auto feed = FollowFromNow(table.get());
    RowDelta delta;
    followed.push_back(RowsPerSecond(1, options.seconds, [&](int thread) {
      const size_t trained = step(thread);
      TakeAll(requests, feed.get(), &delta);
      return trained;
    }));
  }
  Print("followed", {{"followed_over_alone", Median(Ratios(followed, alone))},
                     {"followed_mrows_per_second", Median(followed) / 1e6},
                     {"alone_mrows_per_second", Median(alone) / 1e6}});
}

}  // namespace persia::bench
