#include "cc/columns/gather.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

template <typename T>
Status GatherAll(const std::vector<T>& from, const std::vector<int32_t>& places,
                 std::vector<T>* to) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(from.data());
  auto* const out = reinterpret_cast<uint8_t*>(to->data());
  return Gather(ConstBytes(begin, from.size() * sizeof(T)), sizeof(T), places,
                MutableBytes(out, to->size() * sizeof(T)));
}

template <typename T>
void ExpectOrder() {
  std::vector<T> from;
  std::vector<int32_t> places;
  for (int i = 0; i < 100; ++i) {
    from.push_back(static_cast<T>(i));
    places.push_back(i * 37 % 100);
  }
  std::vector<T> to(places.size());
  const Status status = GatherAll(from, places, &to);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(to[i], places[i]);
}

TEST(GatherTest, ValuesOfEveryWidthAreTakenInTheOrderOfTheirPlaces) {
  ExpectOrder<int8_t>();
  ExpectOrder<int16_t>();
  ExpectOrder<int32_t>();
  ExpectOrder<int64_t>();
}

TEST(GatherTest, ThereMayBeNoValues) {
  std::vector<int64_t> to;
  EXPECT_TRUE(GatherAll({}, {}, &to).ok());
}

TEST(GatherTest, WhatDoesNotFitIsRefused) {
  std::vector<int64_t> to(1);
  EXPECT_EQ(GatherAll({1, 2}, {2}, &to).code(), Code::kInvalidArgument);
  EXPECT_EQ(GatherAll({1, 2}, {-1}, &to).code(), Code::kInvalidArgument);
  EXPECT_EQ(GatherAll({1, 2}, {0, 1}, &to).code(), Code::kInvalidArgument);
  EXPECT_EQ(GatherAll({}, {0}, &to).code(), Code::kInvalidArgument);
  EXPECT_EQ(Gather({}, 3, {}, {}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
