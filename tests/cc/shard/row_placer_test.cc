#include "cc/shard/row_placer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cc/shard/copied_rows.h"
#include "tests/cc/shard/shard_parts.h"

namespace persia {
namespace {

class RowPlacerTest : public ::testing::Test {
 protected:
  RowPlacerTest() {
    owner_.MakeTable("t");
    owner_.Train("t", ids_);
    owner_.Update("t", ids_, 1, 1);
  }

  // Whether the changes since the last call could be placed.
  bool Copy() {
    const auto placed = Place(copied_.Take());
    EXPECT_TRUE(placed.ok()) << placed.status().message();
    return placed.ok() && *placed;
  }

  Result<bool> Place(ChangesRequest changes) {
    return taker_.placer->Place(&changes, slots_);
  }

  void ExpectCopied() {
    EXPECT_EQ(taker_.RowsOf("t"), InSlots(slots_, owner_.RowsOf("t")));
  }

  const Ids ids_ = Range(0, 1000);
  const SlotSet slots_ = EvenSlots();
  ShardParts owner_;
  ShardParts taker_{kOther};
  CopiedRows copied_{&owner_, slots_};
};

TEST_F(RowPlacerTest, MakesTablesThatAreMissing) {
  ASSERT_TRUE(Copy());
  const Table* const table = taker_.Find("t");
  EXPECT_EQ(table->identity().number, owner_.Find("t")->identity().number);
  EXPECT_TRUE(table->identity().is_complete);
  ExpectCopied();
}

TEST_F(RowPlacerTest, ATableThatIsNotCompleteStaysSo) {
  owner_.Find("t")->SetIdentity({7, false});  // As before its completion.
  ASSERT_TRUE(Copy());
  EXPECT_TRUE((taker_.Find("t")->identity() == TableIdentity{7, false}));
}

TEST_F(RowPlacerTest, GoesOnWithWhatChanges) {
  ASSERT_TRUE(Copy());
  owner_.Update("t", Range(0, 100), 1, 2);
  owner_.Find("t")->Remove(Range(100, 200));
  owner_.Train("t", Range(5000, 5100));
  ASSERT_TRUE(Copy());
  ExpectCopied();
}

// The taker has rows of slots that it owns, whose ids the changes may name,
// too.
TEST_F(RowPlacerTest, LeavesOtherSlots) {
  taker_.MakeTable("t");
  taker_.Train("t", ids_);
  const auto own = InSlots(~slots_, taker_.RowsOf("t"));
  CopiedRows all(&owner_, SlotSet().set());
  ASSERT_TRUE(*Place(all.Take()));
  EXPECT_EQ(InSlots(~slots_, taker_.RowsOf("t")), own);
  EXPECT_EQ(InSlots(slots_, taker_.RowsOf("t")),
            InSlots(slots_, owner_.RowsOf("t")));
  owner_.Find("t")->Remove(ids_);
  ASSERT_TRUE(*Place(all.Take()));
  EXPECT_EQ(taker_.RowsOf("t"), own);
}

TEST_F(RowPlacerTest, ATableThatWasClearedIsBegunAgain) {
  ASSERT_TRUE(Copy());
  ChangesRequest changes = copied_.Take();
  changes.tables.resize(1);
  changes.tables[0].config = owner_.Find("t")->config();
  changes.tables[0].identity = owner_.Find("t")->identity();
  changes.tables[0].fate = TableFate::kCleared;
  const auto placed = taker_.placer->Place(&changes, slots_);
  ASSERT_TRUE(placed.ok());
  EXPECT_FALSE(*placed);
}

TEST_F(RowPlacerTest, ATableThatWasDroppedIsNotMade) {
  ChangesRequest changes = copied_.Take();
  ASSERT_EQ(changes.tables.size(), 1u);
  changes.tables[0].fate = TableFate::kDropped;
  const auto placed = taker_.placer->Place(&changes, slots_);
  ASSERT_TRUE(placed.ok());
  EXPECT_TRUE(*placed);
  EXPECT_TRUE(taker_.store.All().empty());
}

TEST_F(RowPlacerTest, AnotherTableOfTheSameNameIsLeft) {
  const Table* const table = taker_.MakeTable("t", /*identity=*/2);
  taker_.Train("t", Range(0, 10));
  const auto before = ExportAll(*table);
  EXPECT_FALSE(Copy());
  EXPECT_EQ(ExportAll(*table), before);
}

// As while an optimizer is replaced, shard after shard.
TEST_F(RowPlacerTest, RowsAreConvertedToTheTablesLayout) {
  TableConfig config = owner_.Find("t")->config();
  config.optimizer = SpecOf("sgd");
  Store::Tables tables;
  tables[HashName("t")] = TableOf(config);
  taker_.store.Replace(&tables);
  taker_.Find("t")->SetIdentity(owner_.Find("t")->identity());
  ASSERT_TRUE(Copy());
  const auto from = InSlots(slots_, owner_.RowsOf("t")),
             to = taker_.RowsOf("t");
  ASSERT_EQ(to.size(), from.size());
  for (const auto& [id, row] : to) {
    EXPECT_EQ(row.weights, from.at(id).weights);
    EXPECT_TRUE(row.state.empty());
  }
}

TEST_F(RowPlacerTest, RowsOfAnotherDimensionOrSizeAreRefused) {
  ChangesRequest changes = copied_.Take();
  changes.tables[0].rows.bytes.pop_back();
  EXPECT_EQ(taker_.placer->Place(&changes, slots_).status().code(),
            Code::kDataLoss);
  changes.tables[0].config.dim = 3;
  EXPECT_EQ(taker_.placer->Place(&changes, slots_).status().code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(taker_.RowsOf("t").empty());
}

TEST_F(RowPlacerTest, AgesAreKeptWhateverTheTablesTimes) {
  TableConfig config = MakeConfig("old", 2);
  config.eviction = SpecOf("ttl(steps=5)");
  owner_.MakeTable(config, 9);
  owner_.Train("old", ids_);
  for (int step = 0; step < 3; ++step) owner_.Train("old", {5000});
  ASSERT_TRUE(Copy());
  RowPage page;
  const Table* const table = taker_.Find("old");
  for (uint64_t at = Table::kBegin; at != Table::kEnd;) {
    at = table->Export(at, 100, &page);
    for (size_t i = 0; i < page.ids.size(); ++i) {
      EXPECT_EQ(page.uses[i].age, page.ids[i] == 5000 ? 1u : 4u);
    }
  }
  EXPECT_GE(table->Stats().rows, InSlots(slots_, ids_).size());
}

TEST_F(RowPlacerTest, WithoutMemoryForTheRowsNothingIsPlaced) {
  taker_.MakeTable("t");
  StoreLimits limits;
  limits.memory_bytes = 1;
  taker_.store.SetLimits(limits);
  const auto placed = Place(copied_.Take());
  EXPECT_EQ(placed.status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(taker_.RowsOf("t").empty());
}

}  // namespace
}  // namespace persia
