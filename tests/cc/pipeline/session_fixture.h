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

// A test starts with a session whose staleness is 4, and which sends each
// lookup alone.
class SessionFixture : public testing::Test {
 protected:
  // A lookup and the memory that it needs until it completes.
  struct StartedLookup {
    Ticket ticket = 0;
    std::vector<float> rows;
    Outcome outcome;
  };

  SessionFixture() { MakeSession(4); }
  ~SessionFixture() override { control_->ReleaseAll(); }

  // Ends the present session first, if there is one.
  void MakeSession(int staleness) {
    SessionOptions options;
    options.staleness = staleness;
    MakeSession(options);
  }

  void MakeSession(SessionOptions options) {
    session_.reset();
    options.linger_seconds = 0;
    session_ = persia::MakeSession(MakeFakeService(control_), options);
  }

  std::shared_ptr<StartedLookup> Start(LayerCall call,
                                       const std::vector<int64_t>& ids) {
    call.model_training = call.training;
    call.ids = ids;
    auto lookup = std::make_shared<StartedLookup>();
    lookup->rows.resize(call.vectors() * call.dim);
    lookups_.push_back(lookup);
    auto issued = session_->Issue(call);
    if (!issued.ok()) {
      lookup->outcome.done()(issued.status());
      return lookup;
    }
    lookup->ticket = issued->ticket;
    session_->Fetch(issued->lookup, lookup->rows, lookup->outcome.done());
    return lookup;
  }

  std::shared_ptr<StartedLookup> StartTraining(const std::string& layer,
                                               const std::vector<int64_t>& ids,
                                               TableKey table = kTable) {
    LayerCall call;
    call.layer = layer;
    call.table = table;
    call.dim = 1;
    call.training = true;
    return Start(std::move(call), ids);
  }

  std::shared_ptr<StartedLookup> StartReadOnly(
      const std::vector<int64_t>& ids) {
    LayerCall call;
    call.layer = "reader";
    call.table = kTable;
    call.dim = 1;
    return Start(std::move(call), ids);
  }

  // A training lookup and the staging of gradients of 1.
  void Stage(const std::string& layer, const std::vector<int64_t>& ids,
             TableKey table = kTable) {
    const auto lookup = StartTraining(layer, ids, table);
    ExpectOk(lookup->outcome.status());
    ExpectOk(
        session_->Stage(layer, lookup->ticket,
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

  // A step whose update is held by the service.
  Outcome HeldStep(const std::string& layer, const std::vector<int64_t>& ids) {
    control_->HoldUpdates(true);
    const size_t before = control_->updates();
    const Outcome outcome = Step(layer, ids);
    control_->WaitForUpdates(before + 1);
    return outcome;
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  std::vector<std::shared_ptr<StartedLookup>>
      lookups_;  // Until the session's end.
  std::unique_ptr<Session> session_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_PIPELINE_SESSION_FIXTURE_H_
