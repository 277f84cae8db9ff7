#include "cc/client/remote_service.h"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cc/client/calls.h"
#include "cc/client/channel.h"
#include "cc/client/discovery.h"
#include "cc/client/members.h"
#include "cc/client/table_routes.h"
#include "cc/client/topology_call.h"
#include "cc/service/pooling.h"
#include "cc/service/pooling_service.h"
#include "cc/wire/address.h"
#include "cc/wire/event_loop.h"

namespace persia {
namespace {

// The pool retains scratch memory for this many concurrent calls; further calls
// allocate theirs.
constexpr size_t kMaxIdleScratch = 8;

// How long servers may take to answer what they know while another is away.
constexpr double kAskSeconds = 1;

// Whether a request fails or does half its work if it does not reach all
// shards. Others are routed by ids, and a shard that does not own an id's slot
// tells of the cluster; and what asks for statistics asks only those that were
// listed.
template <typename Request>
constexpr bool kNeedsCluster = !(std::is_same_v<Request, LookupRequest> ||
                                 std::is_same_v<Request, UpdateRequest> ||
                                 std::is_same_v<Request, AssignRequest> ||
                                 std::is_same_v<Request, RemoveRequest> ||
                                 std::is_same_v<Request, StatsRequest> ||
                                 std::is_same_v<Request, TopologyRequest>);

// Whether a request may found a cluster. Only a program that creates, saves or
// restores tables knows that the servers that it lists are to be one.
template <typename Request>
bool Founds(const Request& request) {
  if constexpr (std::is_same_v<Request, CheckpointRequest>) {
    return request.action == CheckpointAction::kRestore ||
           request.action == CheckpointAction::kSave;
  }
  return std::is_same_v<Request, CreateTableRequest>;
}

// Calls a service that it does not own.
class Borrowed : public EmbeddingService {
 public:
  explicit Borrowed(EmbeddingService* service) : service_(*service) {}

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override {
    service_.Call(request, std::move(done));
  }

 private:
  EmbeddingService& service_;
};

class RemoteService : public EmbeddingService {
 public:
  RemoteService(const std::vector<Address>& addresses,
                const RemoteServiceOptions& options,
                std::vector<std::unique_ptr<EventLoop>> loops)
      : options_(options),
        scratch_(kMaxIdleScratch),
        loops_(std::move(loops)),
        members_(addresses,
                 [this](const Address& address, const std::string& title) {
                   return MakeServerChannel(address, title);
                 }) {
    if (!options.finds_cluster) members_.Fix();
    pooling_ = MakePoolingService(std::make_unique<Borrowed>(this));
  }

  ~RemoteService() override {
    members_.ShutDown();
    for (const auto& loop : loops_) loop->Stop();
  }

  Status MoveShard(uint32_t shard, const std::string& address) override {
    return members_.Move(shard, address);
  }

  Status MoveAddress(const std::string& from, const std::string& to) override {
    return members_.MoveAddress(from, to);
  }

  SharedTopology CurrentTopology() const override {
    return members_.topology();
  }

  std::shared_ptr<const SlotOwners> Owners() const override {
    return members_.view()->owners;
  }

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override {
    std::visit(
        [&](auto* typed) {
          if (IsReadyFor(*typed)) {
            if (!MustRefresh(*typed)) return Start(typed, std::move(done));
            return Refresh(
                &members_, typed->deadline,
                [this, typed, done = std::move(done)] { Start(typed, done); });
          }
          Discover(&members_, Founds(*typed), typed->deadline,
                   [this, typed, done = std::move(done)](Status status) {
                     if (!status.ok()) return done(std::move(status));
                     Start(typed, done);
                   });
        },
        request);
  }

 private:
  // Whether the client knows enough of the cluster. A program that creates a
  // table is told if it lists shards that are no members, however the client
  // found the cluster before.
  template <typename Request>
  bool IsReadyFor(const Request& request) const {
    if (!kNeedsCluster<Request>) return true;
    const bool has_cluster = members_.topology() != nullptr;
    return members_.is_settled() && !(Founds(request) && has_cluster);
  }

  // Whether a request must reach all shards, or one that the client does not
  // know, even those that have joined the cluster a moment ago.
  template <typename Request>
  bool MustRefresh(const Request& request) const {
    if (members_.topology() == nullptr) return false;
    if constexpr (std::is_same_v<Request, ExportRequest>) {
      return request.cursor.shard == 0 &&
             request.cursor.position == Table::kBegin;
    }
    if constexpr (std::is_same_v<Request, ChangesRequest>) {
      const std::vector<uint64_t>& known = members_.view()->members;
      return request.member != 0 && std::find(known.begin(), known.end(),
                                              request.member) == known.end();
    }
    return std::is_same_v<Request, StatsRequest> ||
           std::is_same_v<Request, CheckpointRequest> ||
           std::is_same_v<Request, DropTableRequest>;
  }

  // Whether the ids of bags belong to several shards, none of which can pool
  // them. Programs send bags to the only shard of a cluster, which may grow.
  template <typename Request>
  static bool MustPool(const Request& request, const ClusterView& view) {
    if constexpr (std::is_same_v<Request, LookupRequest> ||
                  std::is_same_v<Request, UpdateRequest>) {
      return view.size() > 1 && view.has_shards() && HasBags(request);
    }
    return false;
  }

  template <typename Request>
  void Start(Request* request, DoneCallback done) {
    const SharedView view = members_.view();
    if (MustPool(*request, *view)) {
      return pooling_->Call(request, std::move(done));
    }
    StartCall({this, &members_, loops_[0].get(), view, &routes_, &scratch_,
               options_.wire_dtype},
              request, std::move(done));
  }

  std::unique_ptr<Channel> MakeServerChannel(const Address& address,
                                             const std::string& title) {
    return MakeChannel(
        loops_[next_loop_++ % loops_.size()].get(), address, title, options_,
        [this](ConstBytes bytes) {
          // Before it is known which shards are listed, see
          // Discover. A topology that cannot be used is not
          // learned: the request that it belongs to fails at
          // its deadline at the latest.
          if (members_.is_settled()) (void)members_.Learn(bytes);
        },
        [this] { OnOutage(); });
  }

  // Whether the servers are known to be no shards.
  bool is_of_workers() const {
    return members_.is_settled() && members_.topology() == nullptr;
  }

  // Asks the other servers whether they know of a standby that has taken the
  // server's place.
  void OnOutage() {
    const bool has_others = members_.view()->size() > 1;
    if (!options_.finds_cluster || !has_others || is_of_workers() ||
        asks_others_.exchange(true)) {
      return;
    }
    const Deadline deadline = DeadlineAfter(kAskSeconds);
    if (members_.topology() != nullptr) {
      return Refresh(&members_, deadline, [this] { asks_others_ = false; });
    }
    Discover(&members_, /*founds=*/false, deadline,
             [this](const Status&) { asks_others_ = false; });
  }

  // Members are destroyed in reverse order: channels with their sockets must be
  // destroyed before their event loops, and both before the routes and the
  // scratch memory that calls use.
  const RemoteServiceOptions options_;
  TableRoutes routes_;
  RowScratchPool scratch_;
  const std::vector<std::unique_ptr<EventLoop>> loops_;
  std::atomic<bool> asks_others_{false};
  size_t next_loop_ = 0;  // Only members_ makes channels, under its lock.
  Members members_;
  std::unique_ptr<EmbeddingService> pooling_;  // Pools, in front of this.
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
  if (addresses.size() > kSlots) {
    return InvalidArgument("the list of shards' addresses must have at most ",
                           kSlots, ", received ", addresses.size());
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
