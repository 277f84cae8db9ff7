#include "cc/client/object_pool.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

// Counts its objects that are alive.
struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  static int alive;
};
int Counted::alive = 0;

TEST(ObjectPoolTest, LendsWhatWasReturned) {
  ObjectPool<int> pool(1);
  int* first = nullptr;
  {
    const auto object = pool.Lend();
    *object = 42;
    first = object.get();
  }
  const auto again = pool.Lend();
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(*again, 42);
}

TEST(ObjectPoolTest, LendsAsManyAsAreAskedFor) {
  ObjectPool<int> pool(1);
  const auto first = pool.Lend();
  const auto second = pool.Lend();
  EXPECT_NE(first.get(), second.get());
}

TEST(ObjectPoolTest, KeepsNoMoreThanItsLimit) {
  {
    ObjectPool<Counted> pool(2);
    {
      const auto first = pool.Lend();
      const auto second = pool.Lend();
      const auto third = pool.Lend();
      EXPECT_EQ(Counted::alive, 3);
    }
    EXPECT_EQ(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace persia
