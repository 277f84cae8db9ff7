#include "cc/wire/event_loop.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace persia {
namespace {

class EventLoopTest : public testing::Test {
 protected:
  EventLoopTest() : loop_(std::move(EventLoop::Start().value())) {}

  const std::unique_ptr<EventLoop> loop_;
};

TEST_F(EventLoopTest, WorkRunsOnItsThreadInOrder) {
  std::vector<int> order;
  std::promise<std::thread::id> thread;
  EXPECT_TRUE(loop_->mailbox()->Post([&] { order.push_back(1); }));
  EXPECT_TRUE(loop_->mailbox()->Run([&] { order.push_back(2); }));
  EXPECT_TRUE(loop_->mailbox()->Post(
      [&] { thread.set_value(std::this_thread::get_id()); }));
  EXPECT_NE(thread.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(EventLoopTest, RunDoesNotWaitOnTheLoopsThreadAndPostDoes) {
  std::vector<int> order;
  std::promise<void> done;
  loop_->mailbox()->Post([&] {
    loop_->mailbox()->Post([&] {
      order.push_back(3);
      done.set_value();
    });
    loop_->mailbox()->Run([&] { order.push_back(1); });
    order.push_back(2);
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(EventLoopTest, StopRunsWhatWasPostedAndRefusesMore) {
  bool ran = false;
  std::promise<void> go;
  loop_->mailbox()->Post([&] { go.get_future().wait(); });
  loop_->mailbox()->Post([&] { ran = true; });
  go.set_value();
  loop_->Stop();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(loop_->mailbox()->Post([] { FAIL(); }));
  EXPECT_FALSE(loop_->mailbox()->Run([] { FAIL(); }));
  loop_->Stop();
}

TEST_F(EventLoopTest, MailboxOutlivesItsLoop) {
  std::shared_ptr<Mailbox> mailbox;
  {
    const auto other = EventLoop::Start();
    mailbox = (*other)->mailbox();
  }
  EXPECT_FALSE(mailbox->Post([] { FAIL(); }));
}

TEST_F(EventLoopTest, WorkThatRunsOutOfMemoryDoesNotEndTheLoop) {
  loop_->mailbox()->Post([] { throw std::bad_alloc(); });
  std::promise<void> done;
  loop_->mailbox()->Post([&] { done.set_value(); });
  done.get_future().wait();
}

}  // namespace
}  // namespace persia
