#include "cc/columns/message_boxes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace persia {
namespace {

// Messages of some bytes, which count how often they were freed.
class MessageBoxesTest : public testing::Test {
 protected:
  HeldMessage Message() {
    ArrowArray array{};
    array.length = 3;
    array.offset = 1;
    array.n_buffers = 2;
    array.buffers = buffers_;
    array.private_data = &freed_;
    array.release = [](ArrowArray* released) {
      ++*static_cast<int*>(released->private_data);
      released->release = nullptr;
    };
    return HeldMessage(&array);
  }

  int freed_ = 0;
  const void* buffers_[2] = {nullptr, "0123"};
};

TEST_F(MessageBoxesTest, AMessageIsTakenOnce) {
  const int64_t box = OpenMessageBox();
  const auto first = PutMessage(box, Message());
  const auto second = PutMessage(box, Message());
  ASSERT_TRUE(first.ok() && second.ok());
  {
    const auto taken = TakeMessage(box, *second);
    ASSERT_TRUE(taken.ok());
    const ConstBytes bytes = taken->bytes();
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "123");
    EXPECT_EQ(TakeMessage(box, *second).status().code(), Code::kNotFound);
    EXPECT_EQ(freed_, 0);
  }
  EXPECT_EQ(freed_, 1);
  CloseMessageBox(box);
  EXPECT_EQ(freed_, 2);
  EXPECT_EQ(TakeMessage(box, *first).status().code(), Code::kNotFound);
}

TEST_F(MessageBoxesTest, AClosedBoxTakesNothing) {
  const int64_t box = OpenMessageBox();
  CloseMessageBox(box);
  CloseMessageBox(box);
  EXPECT_EQ(PutMessage(box, Message()).status().code(), Code::kNotFound);
  EXPECT_EQ(freed_, 1);
}

TEST_F(MessageBoxesTest, OnlyArraysOfBytesAreMessages) {
  const int64_t box = OpenMessageBox();
  buffers_[1] = nullptr;
  for (HeldMessage* const message :
       {new HeldMessage, new HeldMessage(Message())}) {
    const auto put = PutMessage(box, std::move(*message));
    EXPECT_EQ(put.status().code(), Code::kInvalidArgument);
    delete message;
  }
  EXPECT_EQ(freed_, 1);
  CloseMessageBox(box);
}

}  // namespace
}  // namespace persia
