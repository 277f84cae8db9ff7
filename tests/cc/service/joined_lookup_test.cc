#include "cc/service/joined_lookup.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/service/plain_requests.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

TEST(JoinedLookup, AsksForEachIdOnceAndGivesEachItsRows) {
  PlainLookup first("a", 2, {5, 6}), second("a", 2, {7, 5});
  PlainLookup other("b", 1, {5});
  JoinedLookup joined;
  ASSERT_TRUE(
      joined.Build({&first.request, &second.request, &other.request}).ok());
  LookupRequest* request = joined.request();
  ASSERT_EQ(request->tables.size(), 2u);
  const TableLookup& a = request->tables[0];
  const TableLookup& b = request->tables[1];
  EXPECT_EQ(Ids(a.ids.ids.begin(), a.ids.ids.end()), (Ids{5, 6, 7}));
  EXPECT_EQ(Ids(b.ids.ids.begin(), b.ids.ids.end()), Ids{5});
  for (size_t i = 0; i < a.rows.size(); ++i) a.rows[i] = i;
  b.rows[0] = 9;
  request->generation = 3;
  joined.Spread();
  const auto rows = [](const PlainLookup& lookup) {
    const Span<const float> all = lookup.request.tables[0].rows;
    return Floats(all.begin(), all.end());
  };
  EXPECT_EQ(rows(first), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(rows(second), (Floats{4, 5, 0, 1}));
  EXPECT_EQ(rows(other), Floats{9});
  EXPECT_EQ(first.request.generation, 3u);
  EXPECT_EQ(other.request.generation, 3u);
}

TEST(JoinedLookup, KeepsApartWhatAbsentIdsGet) {
  PlainLookup zeros("a", 1, {5}), initial("a", 1, {5}), more("a", 1, {6});
  initial.request.tables[0].absent = AbsentRows::kInitial;
  more.request.tables[0].absent = AbsentRows::kInitial;
  JoinedLookup joined;
  ASSERT_TRUE(
      joined.Build({&zeros.request, &initial.request, &more.request}).ok());
  const LookupRequest& request = *joined.request();
  ASSERT_EQ(request.tables.size(), 2u);
  EXPECT_EQ(request.tables[0].absent, AbsentRows::kDefault);
  EXPECT_EQ(request.tables[0].ids.ids.size(), 1u);
  EXPECT_EQ(request.tables[1].absent, AbsentRows::kInitial);
  EXPECT_EQ(request.tables[1].ids.ids.size(), 2u);
}

TEST(JoinedLookup, EndsByTheEarliestDeadline) {
  PlainLookup late("a", 1, {1}), early("a", 1, {1}), later("a", 1, {1});
  late.request.deadline = DeadlineAfter(200);
  early.request.deadline = DeadlineAfter(100);
  later.request.deadline = DeadlineAfter(300);
  for (const bool read_only : {false, true}) {
    for (PlainLookup* each : {&late, &early, &later}) {
      each->request.read_only = read_only;
    }
    JoinedLookup joined;
    ASSERT_TRUE(
        joined.Build({&late.request, &early.request, &later.request}).ok());
    EXPECT_EQ(joined.request()->deadline, early.request.deadline);
    EXPECT_EQ(joined.request()->read_only, read_only);
  }
}

}  // namespace
}  // namespace persia
