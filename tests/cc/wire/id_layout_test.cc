#include "cc/wire/id_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace persia {
namespace {

using Ids = std::vector<int64_t>;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

uint32_t WidthOf(const Ids& ids) {
  return LayoutOf(ids, WireDtype::kInt4).width;
}

// Packs the ids into exactly the bytes that they need, and unpacks them.
Ids Again(const Ids& ids) {
  const IdLayout layout = LayoutOf(ids, WireDtype::kInt4);
  if (!layout.packed()) return ids;
  std::vector<uint8_t> bytes(PackedIdBytes(layout.count, layout.width));
  EXPECT_LT(bytes.size(), ids.size() * sizeof(int64_t));
  PackIds(ids, layout, bytes.data());
  Ids unpacked(layout.count);
  UnpackIds(bytes.data(), layout, unpacked.data());
  EXPECT_TRUE(CheckLayout(layout, unpacked, WireDtype::kInt4).ok());
  return unpacked;
}

// Many ids, of which the first is the smallest and the last the largest.
Ids Between(int64_t least, int64_t largest) {
  Ids ids(100, least);
  ids.back() = largest;
  return ids;
}

TEST(IdLayoutTest, WidthIsTheLeastThatHoldsTheDifferences) {
  for (uint32_t width = 1; width < 8; ++width) {
    const int64_t most = (int64_t{1} << 8 * width) - 1;
    for (const int64_t least : {int64_t{0}, int64_t{-1}, int64_t{1} << 40,
                                kLeast, kMost - most - 1}) {
      EXPECT_EQ(WidthOf(Between(least, least + most)), width) << least;
      EXPECT_EQ(WidthOf(Between(least, least + most + 1)), width + 1) << least;
      const Ids ids = Between(least, least + most);
      EXPECT_EQ(Again(ids), ids) << least;
    }
  }
}

TEST(IdLayoutTest, IdsOverAll64BitsStayPlain) {
  EXPECT_EQ(WidthOf(Between(kLeast, kMost)), 8u);
  EXPECT_EQ(WidthOf(Between(-1, kMost)), 8u);
  EXPECT_EQ(WidthOf(Between(0, int64_t{1} << 56)), 8u);
}

TEST(IdLayoutTest, IdsStayPlainIfPackingThemSavesNothing) {
  EXPECT_EQ(WidthOf({}), 8u);
  EXPECT_EQ(WidthOf({7}), 8u);
  EXPECT_EQ(WidthOf({7, 8}), 8u);
  EXPECT_EQ(WidthOf({7, 8, 9}), 1u);
  // 8 bytes of the smallest id, and 10 x 7, padded: 80 bytes, as 10 plain ids.
  constexpr int64_t kWide = int64_t{1} << 50;
  EXPECT_EQ(WidthOf({0, 1, 2, 3, 4, 5, 6, 7, 8, kWide}), 8u);
  EXPECT_EQ(WidthOf(Between(0, kWide)), 7u);
}

TEST(IdLayoutTest, Float32HasPlainIds) {
  const Ids ids = {1, 2, 3, 4};
  EXPECT_EQ(LayoutOf(ids, WireDtype::kFloat32).width, 8u);
  for (const WireDtype dtype : {WireDtype::kFloat16, WireDtype::kBfloat16,
                                WireDtype::kInt8, WireDtype::kInt4}) {
    EXPECT_EQ(LayoutOf(ids, dtype).width, 1u);
  }
}

TEST(IdLayoutTest, IdsOfEveryWidthAndCountComeBackInOrder) {
  std::mt19937_64 draw(1);
  for (uint32_t width = 1; width <= 8; ++width) {
    for (size_t count = 0; count < 70; ++count) {
      Ids ids(count);
      for (int64_t& id : ids) {
        id = static_cast<int64_t>(draw() >> (64 - 8 * width)) - 5;
      }
      EXPECT_EQ(Again(ids), ids) << width << " " << count;
    }
  }
}

TEST(IdLayoutTest, RepeatedIdsComeBack) {
  EXPECT_EQ(Again(Ids(100, kMost)), Ids(100, kMost));
  EXPECT_EQ(Again({3, 3, -1, 3, -1}), (Ids{3, 3, -1, 3, -1}));
}

TEST(IdLayoutTest, BytesArePaddedToWords) {
  EXPECT_EQ(PackedIdBytes(0, 1), 8u);
  EXPECT_EQ(PackedIdBytes(1, 1), 16u);
  EXPECT_EQ(PackedIdBytes(8, 1), 16u);
  EXPECT_EQ(PackedIdBytes(9, 1), 24u);
  EXPECT_EQ(PackedIdBytes(3, 7), 32u);
}

TEST(IdLayoutTest, AnotherLayoutIsRefused) {
  const Ids ids = {5, 6, 7};
  const IdLayout right = LayoutOf(ids, WireDtype::kInt4);
  EXPECT_TRUE(CheckLayout(right, ids, WireDtype::kInt4).ok());
  for (const IdLayout& wrong : {IdLayout{3, 2, 5}, IdLayout{3, 1, 4},
                                IdLayout{2, 1, 5}, IdLayout{3, 8, 0}}) {
    EXPECT_EQ(CheckLayout(wrong, ids, WireDtype::kInt4).code(),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(CheckLayout(right, ids, WireDtype::kFloat32).code(),
            Code::kInvalidArgument);
}

TEST(IdLayoutTest, WidthsAre1To8) {
  for (uint32_t width = 1; width <= 8; ++width) {
    EXPECT_TRUE(CheckIdWidth(width).ok());
  }
  EXPECT_EQ(CheckIdWidth(9).message(),
            "the width of ids must be 1 to 8, received 9");
  EXPECT_FALSE(CheckIdWidth(0).ok());
}

}  // namespace
}  // namespace persia
