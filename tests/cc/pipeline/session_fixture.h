// A session over a FakeService.

#ifndef PERSIA_TESTS_CC_PIPELINE_SESSION_FIXTURE_H_
#define PERSIA_TESTS_CC_PIPELINE_SESSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/pipeline/session.h"
#include "tests/cc/pipeline/fake_service.h"
#include "tests/cc/pipeline/outcome.h"
#include "tests/cc/pipeline/steps.h"

namespace persia {

inline constexpr TableKey kTable = 11;
inline constexpr TableKey kOtherTable = 22;

inline void ExpectMessage(const Status& status, const char* part) {
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

// A test starts with a session that lets 4 pushes be pending.
class SessionFixture : public testing::Test {
 protected:
  // A lookup and the memory that it needs until it completes.
  struct Lookup {
    std::vector<int64_t> ids;
    std::vector<float> rows;
    Outcome outcome;
  };

  SessionFixture() { MakeSession(4); }
  ~SessionFixture() override { control_->ReleaseAll(); }

  // Ends the session that there is, if any.
  void MakeSession(int max_pending_pushes) {
    session_.reset();
    SessionOptions options;
    options.max_pending_pushes = max_pending_pushes;
    session_ = persia::MakeSession(MakeFakeService(control_), options);
  }

  std::shared_ptr<Lookup> Start(LookupCall call, std::vector<int64_t> ids) {
    auto lookup = std::make_shared<Lookup>();
    lookup->ids = std::move(ids);
    lookup->rows.resize(lookup->ids.size() * call.dim);
    call.ids = lookup->ids;
    call.rows = lookup->rows;
    session_->Lookup(call, lookup->outcome.ticket_done());
    return lookup;
  }

  std::shared_ptr<Lookup> StartTraining(const std::string& layer,
                                        std::vector<int64_t> ids,
                                        TableKey table = kTable) {
    LookupCall call;
    call.layer = layer;
    call.table = table;
    call.dim = 1;
    call.training = true;
    return Start(std::move(call), std::move(ids));
  }

  std::shared_ptr<Lookup> StartReadOnly(std::vector<int64_t> ids) {
    LookupCall call;
    call.layer = "reader";
    call.table = kTable;
    call.dim = 1;
    return Start(std::move(call), std::move(ids));
  }

  // A training lookup and the staging of gradients of 1.
  void Stage(const std::string& layer, const std::vector<int64_t>& ids,
             TableKey table = kTable) {
    const auto lookup = StartTraining(layer, ids, table);
    ExpectOk(lookup->outcome.status());
    ExpectOk(
        session_->Stage(layer, lookup->outcome.ticket(),
                        MakeGradients(std::vector<float>(ids.size(), 1.0f))));
  }

  Outcome Commit(const std::string& layer) {
    Outcome outcome;
    session_->Commit(layer, 0.5f, outcome.done());
    return outcome;
  }

  // A whole step of one layer.
  Outcome Step(const std::string& layer, const std::vector<int64_t>& ids,
               TableKey table = kTable) {
    Stage(layer, ids, table);
    return Commit(layer);
  }

  // A step whose update is on its way, held.
  Outcome HeldStep(const std::string& layer, const std::vector<int64_t>& ids) {
    control_->HoldUpdates(true);
    const size_t before = control_->updates();
    const Outcome outcome = Step(layer, ids);
    control_->WaitForUpdates(before + 1);
    return outcome;
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  std::unique_ptr<Session> session_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_PIPELINE_SESSION_FIXTURE_H_
