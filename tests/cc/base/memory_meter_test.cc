#include "cc/base/memory_meter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace persia {
namespace {

constexpr auto kNothing = [] {};

TEST(MemoryMeter, CountsWhatIsHeld) {
  MemoryMeter meter;
  {
    MeteredBytes a(&meter);
    MeteredBytes b(&meter);
    EXPECT_EQ(a.Grow(10, [] { return 3; }), 3);
    b.Grow(5, kNothing);
    EXPECT_EQ(meter.used(), 15u);
    a.Shrink(4);
    EXPECT_EQ(meter.used(), 11u);
  }
  EXPECT_EQ(meter.used(), 0u);
}

TEST(MemoryMeter, RefusesWhatIsOverTheLimit) {
  MemoryMeter meter(100);
  MeteredBytes bytes(&meter);
  bytes.Grow(60, kNothing);
  bool called = false;
  try {
    bytes.Grow(41, [&] { called = true; });
    FAIL() << "more than the limit was let in";
  } catch (const MemoryLimitReached& reached) {
    EXPECT_EQ(reached.limit(), 100u);
    EXPECT_EQ(reached.used(), 60u);
  }
  EXPECT_FALSE(called);
  EXPECT_EQ(meter.used(), 60u);
  bytes.Grow(40, kNothing);
  EXPECT_EQ(meter.used(), 100u);
}

TEST(MemoryMeter, CountsNothingForMemoryThatThereIsNot) {
  MemoryMeter meter;
  MeteredBytes bytes(&meter);
  EXPECT_THROW(bytes.Grow(10, [] { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(meter.used(), 0u);
}

TEST(MemoryMeter, SomeMayPassTheLimit) {
  MemoryMeter meter(100);
  MeteredBytes bytes(&meter, MeteredBytes::AtLimit::kGrow);
  bytes.Grow(150, kNothing);
  EXPECT_EQ(meter.used(), 150u);
  EXPECT_THROW(meter.Add(1), MemoryLimitReached);
}

TEST(MemoryMeter, WhatIsMovedIsCountedOnce) {
  MemoryMeter meter;
  MeteredBytes from(&meter);
  from.Grow(40, kNothing);
  {
    MeteredBytes to(std::move(from));
    EXPECT_EQ(meter.used(), 40u);
    MeteredBytes other(&meter);
    other.Grow(10, kNothing);
    other = std::move(to);
    EXPECT_EQ(meter.used(), 40u);
  }
  EXPECT_EQ(meter.used(), 0u);
}

TEST(MemoryMeter, WithoutAMeterNothingIsCounted) {
  MeteredBytes bytes(nullptr);
  EXPECT_EQ(bytes.Grow(10, [] { return 3; }), 3);
  bytes.Shrink(10);
}

TEST(MemoryMeter, ThreadsShareTheLimit) {
  MemoryMeter meter(1000);
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        try {
          meter.Add(1);
          ++got;
        } catch (const MemoryLimitReached&) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(meter.used(), 1000u);
  EXPECT_EQ(meter.used(), static_cast<uint64_t>(got));
}

}  // namespace
}  // namespace persia
