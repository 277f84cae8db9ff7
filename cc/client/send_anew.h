// SendAnew: sends the parts of a call whose slots have moved to their present
// owners.

#ifndef PERSIA_CC_CLIENT_SEND_ANEW_H_
#define PERSIA_CC_CLIENT_SEND_ANEW_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "cc/client/calls.h"

namespace persia {

// Calls `done` when it makes sense to route the parts of these shards of the
// view anew, which do not own their slots; or with an error at the deadline.
void WhenRoutable(const CallContext& context,
                  const std::vector<uint32_t>& shards, Deadline deadline,
                  DoneCallback done);

// Sends a shard's part as a call of its own. If it throws std::bad_alloc, it
// must not have called `done`.
using StartPart = std::function<void(uint32_t shard, DoneCallback done)>;
// Returns the outcome of a part whose slots' owner did not become known.
using FailedPart = std::function<Status(uint32_t shard, const Status& error)>;

// Waits until the client may know the owners of the slots that `shards` of the
// view did not own, and calls `start` for each of these shards. Then calls
// `done` once with the outcome of all these calls.
void SendAnew(const CallContext& context, const std::vector<uint32_t>& shards,
              Deadline deadline, StartPart start, DoneCallback done,
              FailedPart failed);

// A call, derived from `Base`, that sends each moved part as a call of its own.
template <typename Base>
class SentAnewByParts : public Base {
 protected:
  template <typename... Arguments>
  SentAnewByParts(const CallContext& context, Deadline deadline,
                  Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...),
        context_(context),
        deadline_(deadline) {}

  // As StartPart says. `done` keeps this object alive.
  virtual void SendPart(uint32_t shard, DoneCallback done) = 0;

  const CallContext context_;

 private:
  bool CanSendAnew() const override { return true; }

  void SendAnew(const std::vector<uint32_t>& shards,
                DoneCallback done) override {
    persia::SendAnew(
        context_, shards, deadline_,
        [this](uint32_t shard, DoneCallback part_done) {
          SendPart(shard, std::move(part_done));
        },
        std::move(done),
        [this](uint32_t shard, const Status& error) {
          return this->OnFailed(shard, error);
        });
  }

  const Deadline deadline_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SEND_ANEW_H_
