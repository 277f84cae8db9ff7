#include "cc/client/remote_service.h"

#include <utility>
#include <variant>

#include "cc/client/calls.h"
#include "cc/client/channel.h"
#include "cc/client/fan_out.h"
#include "cc/client/table_routes.h"
#include "cc/wire/address.h"
#include "cc/wire/event_loop.h"

namespace persia {
namespace {

// The pool retains scratch memory for this many concurrent calls; further calls
// allocate theirs.
constexpr size_t kMaxIdleScratch = 8;

class RemoteService : public EmbeddingService {
 public:
  RemoteService(const std::vector<Address>& addresses,
                const RemoteServiceOptions& options,
                std::vector<std::unique_ptr<EventLoop>> loops)
      : routes_(static_cast<uint32_t>(addresses.size())),
        scratch_(kMaxIdleScratch),
        loops_(std::move(loops)),
        context_{&channels_, &routes_, &scratch_, options.wire_dtype} {
    for (size_t i = 0; i < addresses.size(); ++i) {
      channels_.push_back(
          MakeChannel(loops_[i % loops_.size()].get(), addresses[i],
                      Concat("shard ", i, " of ", addresses.size()), options));
    }
  }

  ~RemoteService() override {
    for (const auto& channel : channels_) channel->ShutDown();
    for (const auto& loop : loops_) loop->Stop();
  }

  Status MoveShard(uint32_t shard, const std::string& address) override {
    if (shard >= channels_.size()) {
      return InvalidArgument("shard must be below ", channels_.size(),
                             ", the number of shards, received ", shard);
    }
    Result<Address> parsed = Address::Parse(address);
    if (!parsed.ok()) return parsed.status();
    channels_[shard]->Move(*parsed);
    return Status();
  }

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override {
    std::visit(
        [&](auto* typed) { StartCall(context_, typed, std::move(done)); },
        request);
  }

 private:
  // Members are destroyed in reverse order: channels with their sockets must be
  // destroyed before their event loops, and both before the routes and the
  // scratch memory that calls use.
  TableRoutes routes_;
  RowScratchPool scratch_;
  const std::vector<std::unique_ptr<EventLoop>> loops_;
  Channels channels_;
  const CallContext context_;
};

Status CheckOptions(const RemoteServiceOptions& options) {
  if (options.io_threads < 1) {
    return InvalidArgument("io_threads must be at least 1, received ",
                           options.io_threads);
  }
  if (options.first_backoff_seconds <= 0 ||
      options.max_backoff_seconds < options.first_backoff_seconds) {
    return InvalidArgument(
        "first_backoff_seconds must be above 0 and max_backoff_seconds not "
        "below it, received ",
        options.first_backoff_seconds, " and ", options.max_backoff_seconds);
  }
  if (!(options.handshake_seconds > 0)) {
    return InvalidArgument("handshake_seconds must be above 0, received ",
                           options.handshake_seconds);
  }
  return CheckWireDtype(options.wire_dtype);
}

}  // namespace

Result<std::unique_ptr<EmbeddingService>> MakeRemoteService(
    const std::vector<std::string>& addresses,
    const RemoteServiceOptions& options) {
  PERSIA_RETURN_IF_ERROR(CheckOptions(options));
  if (addresses.empty()) {
    return InvalidArgument("the list of shards' addresses is empty");
  }
  std::vector<Address> parsed;
  for (const std::string& text : addresses) {
    Result<Address> address = Address::Parse(text);
    if (!address.ok()) return address.status();
    parsed.push_back(std::move(*address));
  }
  auto loops = EventLoop::StartMany(options.io_threads);
  if (!loops.ok()) return loops.status();
  return std::unique_ptr<EmbeddingService>(
      std::make_unique<RemoteService>(parsed, options, std::move(*loops)));
}

}  // namespace persia
