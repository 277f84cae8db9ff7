#include "cc/columns/batch_boxes.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

// Batches that count how often they were freed.
class BatchBoxesTest : public testing::Test {
 protected:
  HeldBatch Batch(int64_t rows = 3) {
    ArrowArray array{};
    array.length = rows;
    array.private_data = &freed_;
    array.release = [](ArrowArray* released) {
      ++*static_cast<int*>(released->private_data);
      released->release = nullptr;
    };
    return HeldBatch(&array);
  }

  static Code TakeFails(int64_t box, int64_t number) {
    return TakeBatch(box, number).status().code();
  }

  int freed_ = 0;
};

TEST_F(BatchBoxesTest, ABatchIsTakenOnce) {
  const int64_t box = OpenBatchBox();
  const auto first = PutBatch(box, Batch(1), 1);
  const auto second = PutBatch(box, Batch(2), 1);
  ASSERT_TRUE(first.ok() && second.ok());
  {
    const auto taken = TakeBatch(box, *second);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ((*taken)->array().length, 2);
    EXPECT_EQ(TakeFails(box, *second), Code::kNotFound);
    EXPECT_EQ(freed_, 0);
  }
  EXPECT_EQ(freed_, 1);
  CloseBatchBox(box);
  EXPECT_EQ(freed_, 2);
  EXPECT_EQ(TakeFails(box, *first), Code::kNotFound);
}

TEST_F(BatchBoxesTest, ABatchIsTakenSoManyTimes) {
  const int64_t box = OpenBatchBox();
  const auto number = PutBatch(box, Batch(), 2);
  ASSERT_TRUE(number.ok());
  FinishBatchBox(box);
  EXPECT_TRUE(TakeBatch(box, *number).ok());
  EXPECT_EQ(freed_, 0);
  EXPECT_TRUE(TakeBatch(box, *number).ok());
  EXPECT_EQ(freed_, 1);
  EXPECT_EQ(TakeFails(box, *number), Code::kNotFound);
}

TEST_F(BatchBoxesTest, AClosedBoxTakesNothing) {
  const int64_t box = OpenBatchBox();
  CloseBatchBox(box);
  CloseBatchBox(box);
  EXPECT_EQ(PutBatch(box, Batch(), 1).status().code(), Code::kNotFound);
  EXPECT_EQ(freed_, 1);
}

TEST_F(BatchBoxesTest, AFinishedBoxIsGoneOnceItsLastBatchWasTaken) {
  const int64_t box = OpenBatchBox();
  const auto first = PutBatch(box, Batch(), 1);
  const auto second = PutBatch(box, Batch(), 1);
  FinishBatchBox(box);
  EXPECT_TRUE(TakeBatch(box, *second).ok());
  EXPECT_TRUE(PutBatch(box, Batch(), 1).ok());  // It is still there.
  EXPECT_TRUE(TakeBatch(box, *first).ok());
  EXPECT_TRUE(TakeBatch(box, 2).ok());
  EXPECT_EQ(PutBatch(box, Batch(), 1).status().code(), Code::kNotFound);
  EXPECT_EQ(freed_, 4);
}

TEST_F(BatchBoxesTest, AnEmptyBoxIsGoneOnceItIsFinished) {
  const int64_t box = OpenBatchBox();
  FinishBatchBox(box);
  FinishBatchBox(box);
  EXPECT_EQ(PutBatch(box, Batch(), 1).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace persia
