#include "cc/base/counters.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace persia {
namespace {

#define PERSIA_DOOR_COUNTERS(COUNTER)  \
  COUNTER(openings) /* By visitors. */ \
  COUNTER(visitors)

struct DoorStats {
  std::string name;
  PERSIA_COUNTERS(PERSIA_DOOR_COUNTERS)
};

using Counted = std::vector<std::pair<std::string, uint64_t>>;

TEST(Counters, AreMembersThatStartAtZero) {
  const DoorStats door;
  EXPECT_EQ(door.openings, 0u);
  EXPECT_EQ(door.visitors, 0u);
  EXPECT_EQ(DoorStats::kCounters, 2u);
}

TEST(Counters, AreVisitedByNameInTheListsOrder) {
  DoorStats door;
  door.openings = 3;
  door.visitors = 5;
  Counted counted;
  std::as_const(door).VisitCounters([&](const char* name, uint64_t value) {
    counted.emplace_back(name, value);
  });
  EXPECT_EQ(counted, (Counted{{"openings", 3}, {"visitors", 5}}));
}

TEST(Counters, AreSetByAVisit) {
  DoorStats door;
  door.VisitCounters([](const char*, uint64_t& counter) { counter = 7; });
  EXPECT_EQ(door.openings, 7u);
  EXPECT_EQ(door.visitors, 7u);
}

}  // namespace
}  // namespace persia
