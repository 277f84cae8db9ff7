#include "cc/base/byte_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace persia {
namespace {

TEST(ByteBufferTest, IsAlignedAtEverySize) {
  ByteBuffer buffer;
  for (const size_t size : {1, 63, 64, 65, 1000, 100000}) {
    ASSERT_TRUE(buffer.Resize(size));
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    buffer.data()[size - 1] = 1;
  }
}

TEST(ByteBufferTest, KeepsItsMemory) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.Resize(1000));
  const uint8_t* const data = buffer.data();
  ASSERT_TRUE(buffer.Resize(0));
  EXPECT_EQ(buffer.size(), 0u);
  ASSERT_TRUE(buffer.Resize(1000));
  EXPECT_EQ(buffer.data(), data);
}

TEST(ByteBufferTest, GrowsWithWhatItHolds) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.Resize(100));
  for (int i = 0; i < 100; ++i) buffer.data()[i] = static_cast<uint8_t>(i);
  ASSERT_TRUE(buffer.Grow(100000));
  EXPECT_EQ(buffer.size(), 100000u);
  EXPECT_GE(buffer.capacity(), 100000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
  EXPECT_FALSE(buffer.Grow(SIZE_MAX));
  EXPECT_EQ(buffer.size(), 100000u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(buffer.data()[i], i);
}

TEST(ByteBufferTest, MemoryThatIsNotThereIsTold) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.Resize(10));
  EXPECT_FALSE(buffer.Resize(SIZE_MAX));
  EXPECT_EQ(buffer.size(), 0u);
  ASSERT_TRUE(buffer.Resize(10));
  buffer.data()[9] = 1;
}

}  // namespace
}  // namespace persia
