#include "cc/shard/table_events.h"

#include <gtest/gtest.h>

#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

Event Told(bool is_first) {
  EventLog events;
  TellTableMade(&events, MakeConfig("user", 4, "zeros", "sgd"), is_first);
  const auto event = events.Take(Clock::now());
  EXPECT_TRUE(event.has_value());
  return event.value_or(Event());
}

TEST(TableEventsTest, TheFirstShardTellsOfATable) {
  const Event event = Told(true);
  EXPECT_EQ(event.level, EventLevel::kInfo);
  EXPECT_EQ(event.text,
            "made table \"user\": output_dim=4, embeddings_initializer=zeros, "
            "optimizer=sgd");
}

TEST(TableEventsTest, OthersDoSoOnlyWhereDetailsAreWanted) {
  EXPECT_EQ(Told(false).level, EventLevel::kDebug);
}

}  // namespace
}  // namespace persia
