// Lookups of several layers that begin, and whose rows are fetched, together.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/pipeline/session_fixture.h"

namespace persia {
namespace {

// The calls of layers "0", "1", ..., each of its own table and dim, and the ids
// of each.
struct Calls {
  explicit Calls(size_t ids_each) {
    for (size_t i = 0; i < 5; ++i) {
      for (size_t n = 0; n < ids_each; ++n) {
        ids[i].push_back(static_cast<int64_t>(n * n % 1000 + i));
      }
      LayerCall call;
      call.layer = std::to_string(i);
      call.table = i;
      call.dim = 4 * (i + 1);
      call.training = call.model_training = true;
      call.ids = ids[i];
      calls.push_back(std::move(call));
    }
  }

  size_t width() const {
    size_t width = 0;
    for (const LayerCall& call : calls) width += call.dim;
    return width;
  }

  std::vector<int64_t> ids[5];
  std::vector<LayerCall> calls;
};

class SeveralLookupsTest : public SessionFixture {
 protected:
  // Fetches the rows of all lookups as columns of a matrix, and expects each to
  // be {id, id, ...}.
  void ExpectRowsOf(size_t ids_each) {
    const Calls all(ids_each);
    const auto issued = session_->Issue(all.calls);
    ExpectOk(issued.status());
    std::vector<float> matrix(ids_each * all.width(), -1);
    std::vector<WantedRows> wanted;
    size_t column = 0;
    for (size_t i = 0; i < all.calls.size(); ++i) {
      const size_t dim = all.calls[i].dim;
      wanted.push_back({issued->at(i).lookup,
                        StridedSpan<float>::Columns(matrix, ids_each,
                                                    all.width(), column, dim)});
      column += dim;
    }
    Outcome outcome;
    session_->Fetch(std::move(wanted), outcome.done());
    ExpectOk(outcome.status());
    std::vector<float> expected;
    for (size_t n = 0; n < ids_each; ++n) {
      for (size_t i = 0; i < all.calls.size(); ++i) {
        expected.insert(expected.end(), all.calls[i].dim,
                        static_cast<float>(all.ids[i][n]));
      }
    }
    EXPECT_EQ(matrix, expected);
  }
};

TEST_F(SeveralLookupsTest, GetAllRowsWhetherFewOrMany) {
  // The last are so many that several threads copy them.
  for (const size_t ids_each : {0, 1, 100, 5000}) ExpectRowsOf(ids_each);
}

TEST_F(SeveralLookupsTest, WaitForTheLastRows) {
  const Calls all(3);
  control_->HoldLookups(true);
  const auto issued = session_->Issue(all.calls);
  ExpectOk(issued.status());
  std::vector<std::vector<float>> rows(all.calls.size());
  std::vector<WantedRows> wanted;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].resize(3 * all.calls[i].dim);
    wanted.push_back({issued->at(i).lookup, rows[i]});
  }
  Outcome outcome;
  session_->Fetch(std::move(wanted), outcome.done());
  control_->WaitForLookups(rows.size());
  for (size_t i = 0; i + 1 < rows.size(); ++i) control_->CompleteLookup();
  EXPECT_FALSE(outcome.ready());
  control_->CompleteLookup();
  ExpectOk(outcome.status());
  EXPECT_EQ(rows[4][0], static_cast<float>(all.ids[4][0]));
}

TEST_F(SeveralLookupsTest, FailIfOneFails) {
  const Calls all(3);
  control_->HoldLookups(true);
  const auto issued = session_->Issue(all.calls);
  ExpectOk(issued.status());
  std::vector<float> rows(3 * 4);
  Outcome outcome;
  session_->Fetch({{issued->at(0).lookup, rows}, {issued->at(0).lookup, rows}},
                  outcome.done());
  control_->WaitForLookups(all.calls.size());
  control_->CompleteLookup(Status(Code::kUnavailable, "gone"));
  EXPECT_EQ(outcome.status().code(), Code::kUnavailable);
}

TEST_F(SeveralLookupsTest, DoNotBeginIfTheIdsOfOneAreWrong) {
  Calls all(3);
  all.calls.back().combiner = Combiner::kSum;  // Without offsets.
  EXPECT_EQ(session_->Issue(all.calls).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(session_->Counters().training_lookups, 0u);
  EXPECT_EQ(control_->lookups(), 0u);
}

TEST_F(SeveralLookupsTest, NeedRoomForEachOnesRows) {
  const Calls all(3);
  const auto issued = session_->Issue(all.calls);
  ExpectOk(issued.status());
  std::vector<float> rows(3 * 4), short_rows(3 * 8 - 1);
  Outcome outcome;
  session_->Fetch(
      {{issued->at(0).lookup, rows}, {issued->at(1).lookup, short_rows}},
      outcome.done());
  ExpectMessage(outcome.status(), "layer '1' looks up 3 x 8 numbers");
}

}  // namespace
}  // namespace persia
