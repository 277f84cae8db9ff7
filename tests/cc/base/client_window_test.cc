#include "cc/base/client_window.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

TEST(ClientWindowTest, KnowsEachAgeOnItsOwn) {
  const std::vector<uint64_t> ages = {0,  1,   63,
                                      64, 500, ClientWindow::kSequences - 1};
  for (const uint64_t set : ages) {
    ClientWindow window;
    window.Set(set);
    for (uint64_t age = 0; age < ClientWindow::kSequences; ++age) {
      EXPECT_EQ(window.Has(age), age == set) << age;
    }
  }
}

TEST(ClientWindowTest, IsEmptyUntilAnUpdateWasApplied) {
  ClientWindow window;
  window.client = 5;
  window.highest = 9;
  EXPECT_TRUE(window.IsEmpty());
  window.Set(ClientWindow::kSequences - 1);
  EXPECT_FALSE(window.IsEmpty());
}

TEST(ClientWindowTest, EqualsAnotherInAllParts) {
  ClientWindow window;
  window.client = 5;
  window.highest = 9;
  window.Set(3);
  EXPECT_TRUE(window == ClientWindow(window));
  ClientWindow other = window;
  other.client = 6;
  EXPECT_FALSE(window == other);
  other = window;
  other.highest = 8;
  EXPECT_FALSE(window == other);
  other = window;
  other.Set(4);
  EXPECT_FALSE(window == other);
}

}  // namespace
}  // namespace persia
