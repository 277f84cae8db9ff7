#include "cc/writing/update_of_slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

// The slots of these ids.
SlotSet SlotsOf(const std::vector<int64_t>& ids) {
  SlotSet slots;
  for (const int64_t id : ids) slots.set(SlotOf(id));
  return slots;
}

template <typename T>
std::vector<T> Copy(Span<const T> values) {
  return {values.begin(), values.end()};
}

TEST(UpdateOfSlotsTest, HasTheGradientsOfItsIds) {
  const std::vector<int64_t> ids = {1, 2, 3};
  const std::vector<float> gradients = {1, 10, 2, 20, 3, 30};
  UpdateRequest whole;
  whole.client = 5;
  whole.sequence = 6;
  whole.generation = 7;
  TableUpdate& update = whole.tables.emplace_back();
  update.ids.table = 9;
  update.ids.dim = 2;
  update.ids.ids = ids;
  update.gradients = gradients;
  update.learning_rate = 0.5f;
  update.step = 3;
  UpdateOfSlots part(whole, SlotsOf({1, 3}));
  const UpdateRequest& request = *part.request();
  EXPECT_EQ(request.client, 5u);
  EXPECT_EQ(request.sequence, 6u);
  EXPECT_EQ(request.generation, 7u);
  const TableUpdate& own = request.tables.at(0);
  EXPECT_EQ(own.ids.table, 9u);
  EXPECT_EQ(own.learning_rate, 0.5f);
  EXPECT_EQ(own.step, 3u);
  EXPECT_EQ(Copy(own.ids.ids), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(Copy(own.gradients), (std::vector<float>{1, 10, 3, 30}));
}

// The mean of a bag depends on all its ids, even on those of other slots.
TEST(UpdateOfSlotsTest, TurnsGradientsOfBagsIntoThoseOfIds) {
  const std::vector<int64_t> ids = {1, 2, 1};
  const std::vector<uint32_t> offsets = {0, 2, 3};
  const std::vector<float> gradients = {4, 8};
  UpdateRequest whole;
  TableUpdate& update = whole.tables.emplace_back();
  update.ids.dim = 1;
  update.ids.ids = ids;
  update.ids.combiner = Combiner::kMean;
  update.ids.bag_offsets = offsets;
  update.gradients = gradients;
  UpdateOfSlots part(whole, SlotsOf({1}));
  const TableUpdate& own = part.request()->tables.at(0);
  EXPECT_EQ(own.ids.combiner, Combiner::kNone);
  EXPECT_EQ(Copy(own.ids.ids), (std::vector<int64_t>{1}));
  EXPECT_EQ(Copy(own.gradients), (std::vector<float>{10}));
}

}  // namespace
}  // namespace persia
