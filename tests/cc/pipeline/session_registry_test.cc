#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/pipeline/session.h"
#include "tests/cc/pipeline/fake_service.h"
#include "tests/cc/pipeline/outcome.h"
#include "tests/cc/pipeline/steps.h"

namespace persia {
namespace {

constexpr char kName[] = "session of the registry's tests";

class SessionRegistryTest : public testing::Test {
 protected:
  SessionRegistryTest() { ExpectOk(Open(control_)); }

  // Some tests close it themselves.
  ~SessionRegistryTest() override {
    control_->ReleaseAll();
    (void)CloseSession(kName);
    control_->WaitUntilDestroyed();
  }

  static Status Open(std::shared_ptr<FakeControl> control) {
    return OpenSession(kName, MakeFakeService(std::move(control)),
                       SessionOptions());
  }

  static std::shared_ptr<Session> Find() {
    auto session = FindSession(kName);
    ExpectOk(session.status());
    return session.ok() ? *session : nullptr;
  }

  // Looks a row up and, in training, commits a gradient of it.
  static void Train(Session* session) {
    const std::vector<int64_t> ids{1};
    std::vector<float> rows(1);
    LayerCall call;
    call.layer = "a";
    call.table = 11;
    call.dim = 1;
    call.training = true;
    call.ids = ids;
    Outcome lookup, commit;
    auto issued = session->Issue(call);
    ASSERT_TRUE(issued.ok());
    session->Fetch(issued->lookup, rows, lookup.done());
    ExpectOk(lookup.status());
    ExpectOk(session->Stage("a", issued->ticket, MakeGradients({1})));
    session->Commit("a", 0.5f, commit.done());
    ExpectOk(commit.status());
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
};

TEST_F(SessionRegistryTest, FindsASessionByItsName) {
  EXPECT_NE(Find(), nullptr);
  EXPECT_EQ(Find(), Find());
}

TEST_F(SessionRegistryTest, AnUnknownNameSaysWhatToDo) {
  const Status status = FindSession("no such session").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("'no such session'"), std::string::npos);
  EXPECT_NE(status.message().find("Build the model"), std::string::npos);
}

TEST_F(SessionRegistryTest, AClosedSessionIsToldFromOneThatNeverWas) {
  ExpectOk(CloseSession(kName));
  const Status status = FindSession(kName).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("was closed by this program"),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("ptf.local_cluster"), std::string::npos);
}

TEST_F(SessionRegistryTest, ANameIsTakenUntilItsSessionIsClosed) {
  const auto first = Find();
  const auto second = std::make_shared<FakeControl>();
  const Status taken = Open(second);
  EXPECT_EQ(taken.code(), Code::kAlreadyExists);
  EXPECT_NE(taken.message().find(kName), std::string::npos);
  second->WaitUntilDestroyed();
  EXPECT_EQ(Find(), first);

  ExpectOk(CloseSession(kName));
  const auto third = std::make_shared<FakeControl>();
  ExpectOk(Open(third));
  EXPECT_NE(Find(), first);
  ExpectOk(CloseSession(kName));
  third->WaitUntilDestroyed();
}

TEST_F(SessionRegistryTest, ClosingAnUnknownNameIsAnError) {
  EXPECT_EQ(CloseSession("no such session").code(), Code::kNotFound);
}

TEST_F(SessionRegistryTest, ClosingForgetsTheName) {
  ExpectOk(CloseSession(kName));
  EXPECT_EQ(FindSession(kName).status().code(), Code::kNotFound);
  EXPECT_EQ(CloseSession(kName).code(), Code::kNotFound);
}

TEST_F(SessionRegistryTest, ClosingFlushes) {
  control_->HoldUpdates(true);
  Train(Find().get());
  auto closing =
      std::async(std::launch::async, [] { return CloseSession(kName); });
  control_->WaitForUpdates(1);
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  const Status status = closing.get();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("shard 3 is gone"), std::string::npos);
  EXPECT_EQ(FindSession(kName).status().code(), Code::kNotFound);
}

TEST_F(SessionRegistryTest, AClosedSessionServesItsUsersToTheirEnd) {
  const auto session = Find();
  ExpectOk(CloseSession(kName));
  Train(session.get());
  ExpectOk(session->Flush());
  EXPECT_EQ(control_->updates(), 1u);
}

TEST_F(SessionRegistryTest, TheLastUserMayLetGoInACallback) {
  const std::vector<int64_t> ids{1};
  std::vector<float> rows(1);
  LayerCall call;
  call.layer = "a";
  call.dim = 1;
  call.ids = ids;
  control_->HoldLookups(true);
  auto session = Find();
  Session* const target = session.get();
  Outcome outcome;
  auto issued = target->Issue(call);
  ASSERT_TRUE(issued.ok());
  target->Fetch(issued->lookup, rows,
                [done = outcome.done(),
                 alive = std::move(session)](const Status& status) mutable {
                  alive.reset();
                  done(status);
                });
  ExpectOk(CloseSession(kName));
  control_->WaitForLookups(1);
  control_->CompleteLookup();
  ExpectOk(outcome.status());
}

TEST_F(SessionRegistryTest, TwoThreadsMayCloseIt) {
  control_->HoldUpdates(true);
  Train(Find().get());
  auto first =
      std::async(std::launch::async, [] { return CloseSession(kName); });
  auto second =
      std::async(std::launch::async, [] { return CloseSession(kName); });
  control_->WaitForUpdates(1);
  control_->CompleteUpdate();
  for (auto* closing : {&first, &second}) {
    const Status status = closing->get();
    EXPECT_TRUE(status.ok() || status.code() == Code::kNotFound);
  }
  EXPECT_EQ(FindSession(kName).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace persia
