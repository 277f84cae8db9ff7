#include "cc/base/strided_span.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

using Floats = std::vector<float>;

TEST(StridedSpan, IsWithoutGapsUnlessItHasAStride) {
  Floats values{1, 2, 3, 4};
  const StridedSpan<float> span(values);
  EXPECT_TRUE(span.IsContiguous(2));
  EXPECT_EQ(*span.At(1, 2), 3);
  EXPECT_TRUE(span.Holds(2, 2));
  EXPECT_TRUE(span.Holds(4, 1));
  EXPECT_FALSE(span.Holds(1, 2));
  EXPECT_FALSE(span.Holds(3, 2));
}

TEST(StridedSpan, HoldsTheLastVectorToItsEnd) {
  Floats matrix{1, 2, 3, 4, 5, 6};
  const auto columns = StridedSpan<float>::Columns(matrix, 2, 3, 1, 2);
  EXPECT_FALSE(columns.IsContiguous(2));
  EXPECT_EQ(*columns.At(1, 2), 5);
  EXPECT_TRUE(columns.Holds(2, 2));
  EXPECT_FALSE(columns.Holds(3, 2));
  EXPECT_FALSE(columns.Holds(1, 2));
}

TEST(StridedSpan, OfNoVectorsIsEmpty) {
  Floats none;
  EXPECT_TRUE(StridedSpan<float>::Columns(none, 0, 3, 1, 2).Holds(0, 2));
  EXPECT_TRUE(StridedSpan<float>(none).Holds(0, 2));
}

TEST(StridedSpan, HasParts) {
  std::vector<float> matrix = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const auto columns = StridedSpan<float>::Columns(matrix, 3, 3, 1, 2);
  const auto part = columns.Part(1, 3, 2);
  EXPECT_TRUE(part.Holds(2, 2));
  EXPECT_EQ(part.At(0, 2), matrix.data() + 4);
  EXPECT_EQ(part.At(1, 2), matrix.data() + 7);
  EXPECT_TRUE(columns.Part(2, 2, 2).Holds(0, 2));
  const StridedSpan<float> whole(matrix);
  EXPECT_TRUE(whole.Part(1, 2, 3).Holds(1, 3));
  EXPECT_EQ(whole.Part(1, 2, 3).At(0, 3), matrix.data() + 3);
}

TEST(StridedSpan, CopiesAndAppendsVectors) {
  Floats matrix(6);
  const auto columns = StridedSpan<float>::Columns(matrix, 2, 3, 1, 2);
  CopyVectors(Floats{1, 2, 3, 4}, 2, columns);
  EXPECT_EQ(matrix, (Floats{0, 1, 2, 0, 3, 4}));
  Floats appended{9};
  AppendVectors(StridedSpan<const float>::Columns(matrix, 2, 3, 1, 2), 2, 2,
                &appended);
  EXPECT_EQ(appended, (Floats{9, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace persia
