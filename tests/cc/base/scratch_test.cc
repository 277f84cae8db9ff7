#include "cc/base/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

namespace persia {
namespace {

using Ints = Scratch<int>;

constexpr size_t kLarge = 1 << 20;

void Call(Ints* scratch, size_t size, size_t times) {
  for (size_t i = 0; i < times; ++i) (void)scratch->Get(size);
}

TEST(Scratch, HasRoomForWhatIsAskedFor) {
  Ints scratch;
  for (const size_t size : {10u, 1u, 1000u, 0u, 999u}) {
    int* const values = scratch.Get(size);
    for (size_t i = 0; i < size; ++i) values[i] = 1;
    EXPECT_GE(scratch.bytes(), size * sizeof(int));
  }
}

TEST(Scratch, WhatThereIsNotIsAnException) {
  Ints scratch;
  scratch.Get(kLarge)[0] = 1;
  for (const size_t size : {SIZE_MAX, SIZE_MAX / 4, size_t{1} << 60}) {
    EXPECT_THROW(scratch.Get(size), std::bad_alloc);
    EXPECT_EQ(scratch.bytes(), 0u);
  }
  scratch.Get(kLarge)[0] = 1;
}

TEST(Scratch, SteadyCallsKeepTheirMemory) {
  Ints scratch;
  const int* const values = scratch.Get(kLarge);
  for (size_t i = 0; i < 3 * Ints::kCalls; ++i) {
    // A large one now and then, and others that need a quarter.
    EXPECT_EQ(scratch.Get(i % 100 == 0 ? kLarge : kLarge / 4), values);
  }
}

TEST(Scratch, GivesBackWhatFewCallsNeeded) {
  Ints scratch;
  Call(&scratch, kLarge, 1);
  Call(&scratch, 1000, 2 * Ints::kCalls);
  EXPECT_LE(scratch.bytes(), Ints::kKeptBytes);
  int* const values = scratch.Get(kLarge);
  values[kLarge - 1] = 1;
  EXPECT_GE(scratch.bytes(), kLarge * sizeof(int));
}

TEST(Scratch, KeepsWhatIsLittle) {
  Ints scratch;
  Call(&scratch, Ints::kKeptBytes / sizeof(int), 1);
  const size_t kept = scratch.bytes();
  Call(&scratch, 1, 3 * Ints::kCalls);
  EXPECT_EQ(scratch.bytes(), kept);
}

}  // namespace
}  // namespace persia
