// The rows of a table, and following them, through the C interface.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "cc/base/hash.h"
#include "cc/base/slots.h"
#include "cc/base/status.h"
#include "cc/capi/persia.h"
#include "tests/cc/capi/capi_calls.h"
#include "tests/cc/capi/embedded_fixture.h"

namespace persia {
namespace {

// Table "t" of 2 columns, with Adagrad, so its state is as large as its
// weights.
class RowsTest : public EmbeddedFixture {
 protected:
  RowsTest() {
    uint64_t rows = 0;
    ExpectOk(CreateTable(kName, "t", 2, "adagrad", &rows));
  }
};

TEST_F(RowsTest, AreAssignedLookedUpAndRemoved) {
  const int64_t ids[] = {5, -5};
  const float rows[] = {1, 2, 3, 4};
  ExpectOk(persia_session_assign(kName, "t", 2, 0, ids, 2, rows, nullptr));
  const int64_t asked[] = {-5, 6, 5, -5};
  float found[8] = {};
  ExpectOk(persia_session_lookup(kName, "t", 2, asked, 4, found));
  const float expected[] = {3, 4, 0, 0, 1, 2, 3, 4};
  EXPECT_TRUE(std::equal(found, found + 8, expected));
  uint64_t removed = 0;
  ExpectOk(persia_session_remove(kName, "t", asked, 2, &removed));
  EXPECT_EQ(removed, 1u);
  ExpectOk(persia_session_lookup(kName, "t", 2, asked, 1, found));
  EXPECT_EQ(found[0], 0);
}

TEST_F(RowsTest, AreExportedPageByPageWithTheirState) {
  const int64_t ids[] = {7};
  const float rows[] = {1, 2};
  const float state[] = {3, 4};
  ExpectOk(persia_session_assign(kName, "t", 2, 2, ids, 1, rows, state));
  persia_export_cursor cursor = {};
  uint64_t count = 0;
  while (!cursor.at_end) {
    persia_page* page = nullptr;
    ExpectOk(persia_session_export(kName, "t", 1, &cursor, &page));
    ASSERT_NE(page, nullptr);
    persia_page_view view;
    persia_page_get(page, &view);
    EXPECT_EQ(view.dim, 2u);
    EXPECT_EQ(view.state_size, 2u);
    if (view.count > 0) {
      EXPECT_EQ(view.ids[0], 7);
      EXPECT_EQ(view.rows[1], 2);
      EXPECT_EQ(view.state[1], 4);
    }
    count += view.count;
    persia_page_free(page);
  }
  EXPECT_EQ(count, 1u);
}

TEST_F(RowsTest, OfATableThatIsNotThereAreNotFoundByName) {
  const int64_t ids[] = {7};
  float rows[] = {1, 2};
  uint64_t removed = 0;
  persia_export_cursor cursor = {};
  persia_page* page = nullptr;
  const char* none = "no such";
  const std::string part = "table 'no such': ";
  ExpectError(persia_session_lookup(kName, none, 2, ids, 1, rows),
              Code::kNotFound, part);
  ExpectError(persia_session_assign(kName, none, 2, 0, ids, 1, rows, nullptr),
              Code::kNotFound, part);
  ExpectError(persia_session_remove(kName, none, ids, 1, &removed),
              Code::kNotFound, part);
  ExpectError(persia_session_export(kName, none, 1, &cursor, &page),
              Code::kNotFound, part);
  EXPECT_EQ(page, nullptr);
}

TEST_F(RowsTest, OfASessionThatIsNotThereAreNotFound) {
  uint64_t removed = 0;
  ExpectError(persia_session_remove("unknown", "t", nullptr, 0, &removed),
              Code::kNotFound, "'unknown'");
}

TEST_F(RowsTest, OfAnotherWidthAreRefused) {
  const int64_t ids[] = {7};
  float rows[] = {1, 2, 3};
  ExpectError(persia_session_assign(kName, "t", 3, 0, ids, 1, rows, nullptr),
              Code::kInvalidArgument, "output_dim 2, received 3");
  ExpectError(persia_session_assign(kName, "t", 2, 3, ids, 1, rows, rows),
              Code::kInvalidArgument, "2 numbers of optimizer state");
  ExpectError(persia_session_lookup(kName, "t", 3, ids, 1, rows),
              Code::kInvalidArgument, "output_dim 2, received 3");
}

TEST(Page, FreeingNoneIsAllowed) { persia_page_free(nullptr); }

TEST_F(RowsTest, AreToldToAFollower) {
  const int64_t ids[] = {7};
  const float rows[] = {1, 2};
  ExpectOk(persia_session_assign(kName, "t", 2, 0, ids, 1, rows, nullptr));
  persia_follow_position position = {5, 0, 0, 0};
  persia_changes* changes = nullptr;
  ExpectOk(persia_session_changes(kName, 0, 0, &position, 10, &changes));
  EXPECT_EQ(position.follower, 5u);
  EXPECT_EQ(position.version, 1u);
  persia_changes_view view;
  persia_changes_get(changes, &view);
  EXPECT_EQ(view.begins, 2);
  EXPECT_EQ(view.cluster, 0u);
  for (uint32_t slot = 0; slot < 16384; ++slot) {
    EXPECT_EQ(view.slot_epochs[slot], 1u) << slot;
    EXPECT_EQ(view.fresh[slot], 1) << slot;
  }
  persia_changed_table table;
  ASSERT_GE(view.tables, 1);
  ExpectOk(persia_changes_table(changes, view.tables - 1, &table));
  EXPECT_STREQ(table.name, "t");
  EXPECT_STREQ(table.row_dtype, "float32");
  EXPECT_EQ(table.dim, 2u);
  ASSERT_EQ(table.count, 1u);
  EXPECT_EQ(table.ids[0], 7);
  EXPECT_EQ(table.rows[1], 2);
  EXPECT_EQ(table.erased_count, 0u);
  ExpectError(persia_changes_table(changes, view.tables, &table),
              Code::kInvalidArgument, "table must be at least 0");
  persia_changes_free(changes);

  uint64_t removed = 0;
  ExpectOk(persia_session_remove(kName, "t", ids, 1, &removed));
  ExpectOk(persia_session_changes(kName, 0, 0, &position, 10, &changes));
  persia_changes_get(changes, &view);
  EXPECT_EQ(view.begins, 0);
  EXPECT_EQ(view.complete, 1);
  ASSERT_EQ(view.tables, 1);
  ExpectOk(persia_changes_table(changes, 0, &table));
  ASSERT_EQ(table.erased_count, 1u);
  EXPECT_EQ(table.erased[0], 7);
  persia_changes_free(changes);
}

TEST_F(RowsTest, AreNotToldOfAnotherShard) {
  persia_follow_position position = {5, 0, 0, 0};
  persia_changes* changes = nullptr;
  ExpectError(persia_session_changes(kName, 1, 0, &position, 10, &changes),
              Code::kInvalidArgument, "received 1");
  EXPECT_EQ(changes, nullptr);
  EXPECT_EQ(position.version, 0u);
  persia_changes_free(changes);
}

TEST(SlotsOfIds, AreThoseOfTheIds) {
  const int64_t ids[] = {1, -1, 1 << 20};
  uint32_t slots[3];
  persia_slots_of_ids(ids, 3, slots);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slots[i], SlotOf(ids[i]));
}

}  // namespace
}  // namespace persia
