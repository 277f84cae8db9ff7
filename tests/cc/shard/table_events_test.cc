#include "cc/shard/table_events.h"

#include <gtest/gtest.h>

#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

Event Told(uint32_t shard) {
  TableConfig config = MakeConfig("user", 4, "zeros", "sgd");
  config.shard_index = shard;
  config.shard_count = 2;
  EventLog events;
  TellTableMade(&events, config);
  const auto event = events.Take(Clock::now());
  EXPECT_TRUE(event.has_value());
  return event.value_or(Event());
}

TEST(TableEventsTest, TheFirstShardTellsOfATable) {
  const Event event = Told(0);
  EXPECT_EQ(event.level, EventLevel::kInfo);
  EXPECT_EQ(event.text,
            "made table \"user\": output_dim=4, embeddings_initializer=zeros, "
            "optimizer=sgd, shard_count=2");
}

TEST(TableEventsTest, OthersDoSoOnlyWhereDetailsAreWanted) {
  EXPECT_EQ(Told(1).level, EventLevel::kDebug);
}

}  // namespace
}  // namespace persia
