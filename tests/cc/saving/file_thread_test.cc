#include "cc/saving/file_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <vector>

namespace persia {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// The outcome of one call; if the call does not end, waiting for it fails the
// test.
class Waited {
 public:
  std::function<void(Status)> done() {
    return [this](const Status& status) { ended_.set_value(status); };
  }
  Code code() {
    auto ended = ended_.get_future();
    if (ended.wait_for(kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "the call did not end";
      return Code::kInternal;
    }
    return ended.get().code();
  }

 private:
  std::promise<Status> ended_;
};

Status Ok() { return Status(); }

TEST(FileThreadTest, CallsEndInTheirOrderOnAThreadOfTheirOwn) {
  std::vector<int> order;
  std::vector<Waited> waited(3);
  FileThread files;
  for (int i = 0; i < 3; ++i) {
    files.Run(
        Deadline::max(),
        [&order, i, caller = std::this_thread::get_id()] {
          EXPECT_NE(std::this_thread::get_id(), caller);
          order.push_back(i);
          return Status(Code::kNotFound, "");
        },
        waited[i].done());
  }
  for (Waited& one : waited) EXPECT_EQ(one.code(), Code::kNotFound);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(FileThreadTest, NobodyWaitsForACallThatHangs) {
  Waited hanging, late, in_time;
  std::promise<void> may_end;
  FileThread files;
  files.Run(
      Deadline::max(),
      [&] {
        may_end.get_future().wait();
        return Status();
      },
      hanging.done());
  files.Run(
      Clock::now(), [] { return Status(Code::kInternal, "worked"); },
      late.done());
  files.Run(Deadline::max(), Ok, in_time.done());
  may_end.set_value();  // Run has returned all three times.
  EXPECT_EQ(hanging.code(), Code::kOk);
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(in_time.code(), Code::kOk);
}

TEST(FileThreadTest, WhatWaitsWhenItEndsIsCancelled) {
  Waited working, waiting;
  std::promise<void> begun, may_end;
  auto files = std::make_unique<FileThread>();
  files->Run(
      Deadline::max(),
      [&] {
        begun.set_value();
        may_end.get_future().wait();
        return Status();
      },
      working.done());
  files->Run(Deadline::max(), Ok, waiting.done());
  ASSERT_EQ(begun.get_future().wait_for(kPatience), std::future_status::ready);
  auto ended = std::async(std::launch::async, [&] { files = nullptr; });
  // The destructor waits for the job that has begun; the waiting job is not
  // begun any more, whichever thread goes first.
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(50)),
            std::future_status::timeout);
  may_end.set_value();
  EXPECT_EQ(working.code(), Code::kOk);
  EXPECT_EQ(waiting.code(), Code::kCancelled);
}

TEST(FileThreadTest, OneThatIsNotUsedEnds) { FileThread files; }

}  // namespace
}  // namespace persia
