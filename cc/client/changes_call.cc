#include "cc/client/changes_call.h"

#include <memory>
#include <new>
#include <utility>

#include "cc/client/control_calls.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// A key that stands for every table: whether the servers are embedding workers
// does not depend on the table.
constexpr TableKey kAnyTable = 0;

// Asks the shard that the request names. If the servers are embedding workers,
// the first one forwards the request to that shard.
class ChangesCall : public FanOut {
 public:
  ChangesCall(const Channels* channels, bool each_has_all,
              ChangesRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        each_has_all_(each_has_all),
        request_(request) {}

  void Start() {
    if (each_has_all_) return AskOne(0);
    if (request_->shard < shard_count()) return AskOne(request_->shard);
    Fail(InvalidArgument("the shard of changes must be below their number, ",
                         shard_count(), ", received ", request_->shard));
  }

 private:
  void AskOne(uint32_t shard) {
    Ask({shard}, MessageType::kChangesReply, /*retry_unavailable=*/false);
  }

  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeChanges(request_id, each_has_all_ ? request_->shard : 0,
                         *request_);
  }

  Status OnReply(uint32_t /*shard*/, ConstBytes body) override {
    // A reply that cannot be decoded must not change the position, so that the
    // caller can ask again.
    ChangesRequest reply;
    try {
      PERSIA_RETURN_IF_ERROR(DecodeChangesReply(body, &reply));
    } catch (const std::bad_alloc&) {
      return Status(Code::kResourceExhausted,
                    Concat("no memory for changes of ", body.size(), " bytes"));
    }
    reply.position.follower = request_->position.follower;
    request_->position = reply.position;
    request_->begins = reply.begins;
    request_->complete = reply.complete;
    request_->tables = std::move(reply.tables);
    return Status();
  }

  Status OnAllReplied() override { return Status(); }

  const bool each_has_all_;
  ChangesRequest* const request_;
};

}  // namespace

void StartChanges(const Channels* channels, TableRoutes* routes,
                  ChangesRequest* request, DoneCallback done) {
  const auto start = [channels, request, done](bool each_has_all) {
    std::make_shared<ChangesCall>(channels, each_has_all, request, done)
        ->Start();
  };
  // A single server checks the shard's number itself.
  if (channels->size() == 1) return start(true);
  if (const auto known = routes->EachHasAllRows(kAnyTable)) {
    return start(*known);
  }
  StartLearnRoute(channels, routes, kAnyTable, request->deadline,
                  [routes, done, start](const Status& status) {
                    if (!status.ok()) return done(status);
                    start(routes->EachHasAllRows(kAnyTable).value_or(false));
                  });
}

}  // namespace persia
