#include "cc/client/remote_service.h"

#include <utility>

#include "cc/client/changes_call.h"
#include "cc/client/channel.h"
#include "cc/client/checkpoint_call.h"
#include "cc/client/control_calls.h"
#include "cc/client/create_table_call.h"
#include "cc/client/fan_out.h"
#include "cc/client/row_calls.h"
#include "cc/client/table_routes.h"
#include "cc/client/whole_row_calls.h"
#include "cc/wire/address.h"
#include "cc/wire/event_loop.h"

namespace persia {
namespace {

// The number of concurrent calls that find their memory allocated.
constexpr size_t kMaxIdleScratch = 8;

class RemoteService : public EmbeddingService {
 public:
  RemoteService(const std::vector<Address>& addresses,
                const RemoteServiceOptions& options,
                std::vector<std::unique_ptr<EventLoop>> loops)
      : routes_(static_cast<uint32_t>(addresses.size())),
        scratch_(kMaxIdleScratch),
        loops_(std::move(loops)),
        row_calls_{&channels_, &routes_, &scratch_, options.wire_dtype} {
    for (size_t i = 0; i < addresses.size(); ++i) {
      channels_.push_back(
          MakeChannel(loops_[i % loops_.size()].get(), addresses[i],
                      Concat("shard ", i, " of ", addresses.size(), " (",
                             addresses[i].ToString(), ")"),
                      options));
    }
  }

  ~RemoteService() override {
    for (const auto& channel : channels_) channel->ShutDown();
    for (const auto& loop : loops_) loop->Stop();
  }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    StartCreateTable(&channels_, &routes_, request, std::move(done));
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    StartLookup(row_calls_, request, std::move(done));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    StartUpdate(row_calls_, request, std::move(done));
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    StartStats(&channels_, request, std::move(done));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    StartExport(&channels_, &routes_, request, std::move(done));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    StartAssign(&channels_, &scratch_, request, std::move(done));
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    StartRemove(&channels_, &scratch_, request, std::move(done));
  }

  void DropTable(DropTableRequest* request, DoneCallback done) override {
    StartDropTable(&channels_, request, std::move(done));
  }

  void Changes(ChangesRequest* request, DoneCallback done) override {
    StartChanges(&channels_, &routes_, request, std::move(done));
  }

  void Checkpoint(CheckpointRequest* request, DoneCallback done) override {
    StartCheckpoint(&channels_, request, std::move(done));
  }

 private:
  // The order matters for destruction: channels with their sockets before their
  // loops, and both before the routes and the scratch memory that calls use.
  TableRoutes routes_;
  RowScratchPool scratch_;
  const std::vector<std::unique_ptr<EventLoop>> loops_;
  Channels channels_;
  const RowCallContext row_calls_;
};

Status CheckOptions(const RemoteServiceOptions& options) {
  if (options.io_threads < 1) {
    return InvalidArgument("io_threads must be at least 1, received ",
                           options.io_threads);
  }
  if (options.first_backoff_seconds <= 0 ||
      options.max_backoff_seconds < options.first_backoff_seconds) {
    return InvalidArgument(
        "back-offs must be above 0 and the longest not shorter than the "
        "first, received ",
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
