#include "cc/client/row_calls.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "cc/client/part_client.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

Span<const float> FloatsOf(const TableLookup& table) { return table.rows; }
Span<const float> FloatsOf(const TableUpdate& table) { return table.gradients; }

template <typename Table>
Status Split(const std::vector<Table>& tables, const TableRoutes& routes,
             uint32_t shard_count, Partition* partition) {
  std::vector<Partition::Table> routed;
  routed.reserve(tables.size());
  for (const Table& table : tables) {
    Result<Partition::Table> route = routes.Route(table.ids);
    if (!route.ok()) return route.status();
    const size_t floats = FloatsOf(table).size();
    if (floats != table.ids.vectors() * table.ids.dim) {
      return InvalidArgument(
          std::is_same_v<Table, TableLookup> ? "rows" : "gradients",
          " must have ", table.ids.vectors(), " x ", table.ids.dim,
          " floats, received ", floats);
    }
    routed.push_back(*route);
  }
  return partition->Build(routed, shard_count);
}

// The shard's part of a table's ids.
TableIds PartOf(const TableIds& ids, const Partition& partition, size_t table,
                uint32_t shard) {
  TableIds part = ids;
  part.ids = partition.ids(table, shard);
  if (partition.places(table, shard).count > 0) return part;
  // Bags that go elsewhere: none at all are no bags either.
  part.combiner = Combiner::kNone;
  part.bag_offsets = {};
  part.weights = {};
  return part;
}

class LookupCall : public FanOut {
 public:
  LookupCall(const Channels* channels, const TableRoutes* routes,
             RowScratchPool* pool, LookupRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        routes_(routes),
        request_(request),
        scratch_(pool->Lend()) {}

  void Start() {
    const Status status =
        Split(request_->tables, *routes_, shard_count(), &scratch_->partition);
    if (!status.ok()) return Fail(status);
    shards_ = ShardsWithWork(scratch_->partition);
    generations_.resize(shard_count());
    Ask(shards_, MessageType::kLookupReply, /*retry_unavailable=*/false);
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    LookupRequest part;
    part.read_only = request_->read_only;
    part.client = PartClient(request_->client, shard, shard_count());
    part.visible_sequence = request_->visible_sequence;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      part.tables.push_back(
          {PartOf(request_->tables[t].ids, scratch_->partition, t, shard), {}});
    }
    return EncodeLookup(request_id, part);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    const Partition& partition = scratch_->partition;
    size_t floats = 0;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      floats += partition.places(t, shard).count * request_->tables[t].ids.dim;
    }
    Span<const float> rows;
    PERSIA_RETURN_IF_ERROR(
        DecodeLookupReply(body, floats, &generations_[shard], &rows));
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      const TableLookup& table = request_->tables[t];
      partition.Scatter(t, shard, table.ids.dim, rows.data(),
                        table.rows.data());
      rows = rows.subspan(partition.places(t, shard).count * table.ids.dim);
    }
    return Status();
  }

  Status OnAllReplied() override {
    std::vector<uint64_t> generations;
    for (const uint32_t s : shards_) generations.push_back(generations_[s]);
    return JoinGenerations(generations, &request_->generation);
  }

  const TableRoutes* const routes_;
  LookupRequest* const request_;
  const RowScratchPool::Lent scratch_;
  std::vector<uint32_t> shards_;       // Those that are asked.
  std::vector<uint64_t> generations_;  // By shard.
};

class UpdateCall : public FanOut {
 public:
  UpdateCall(const Channels* channels, const TableRoutes* routes,
             RowScratchPool* pool, UpdateRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        routes_(routes),
        request_(request),
        scratch_(pool->Lend()) {}

  void Start() {
    const Status status = Prepare();
    if (!status.ok()) return Fail(status);
    counts_.resize(shard_count());
    // A server says kUnavailable while the first arrival of a repeated update
    // is still being applied.
    Ask(ShardsWithWork(scratch_->partition), MessageType::kUpdateReply,
        /*retry_unavailable=*/true);
  }

 private:
  Status Prepare() {
    PERSIA_RETURN_IF_ERROR(
        Split(request_->tables, *routes_, shard_count(), &scratch_->partition));
    if (shard_count() == 1) return Status();
    size_t floats = 0;
    for (const TableUpdate& table : request_->tables) {
      floats += table.gradients.size();
    }
    if (!scratch_->floats.Resize(floats * sizeof(float))) {
      return Status(Code::kResourceExhausted,
                    Concat("no memory to split ", floats, " gradients"));
    }
    free_gradients_ = scratch_->floats.As<float>(floats);
    return Status();
  }

  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    UpdateRequest part;
    part.client = PartClient(request_->client, shard, shard_count());
    part.sequence = request_->sequence;
    part.generation = request_->generation;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      part.tables.push_back(request_->tables[t]);
      part.tables[t].ids =
          PartOf(request_->tables[t].ids, scratch_->partition, t, shard);
      if (shard_count() > 1) part.tables[t].gradients = Gradients(t, shard);
    }
    return EncodeUpdate(request_id, part);
  }

  // The shard's share of a table's gradients, in one piece.
  Span<const float> Gradients(size_t table, uint32_t shard) {
    const TableUpdate& whole = request_->tables[table];
    const Partition& partition = scratch_->partition;
    const Span<float> share = free_gradients_.first(
        partition.places(table, shard).count * whole.ids.dim);
    free_gradients_ = free_gradients_.subspan(share.size());
    partition.Gather(table, shard, whole.ids.dim, whole.gradients.data(),
                     share.data());
    return share;
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeUpdateReply(body, &counts_[shard]);
  }

  Status OnAllReplied() override {
    request_->counts = UpdateCounts();
    for (const UpdateCounts& counts : counts_) {
      request_->counts.applied += counts.applied;
      request_->counts.nonfinite += counts.nonfinite;
      request_->counts.absent += counts.absent;
    }
    return Status();
  }

  const TableRoutes* const routes_;
  UpdateRequest* const request_;
  const RowScratchPool::Lent scratch_;
  Span<float> free_gradients_;        // Of scratch_->floats.
  std::vector<UpdateCounts> counts_;  // By shard.
};

}  // namespace

std::vector<uint32_t> ShardsWithWork(const Partition& partition) {
  std::vector<uint32_t> shards;
  for (uint32_t s = 0; s < partition.shard_count(); ++s) {
    if (partition.HasWork(s)) shards.push_back(s);
  }
  if (shards.empty()) shards.push_back(0);
  return shards;
}

void StartLookup(const Channels* channels, const TableRoutes* routes,
                 RowScratchPool* pool, LookupRequest* request,
                 DoneCallback done) {
  std::make_shared<LookupCall>(channels, routes, pool, request, std::move(done))
      ->Start();
}

void StartUpdate(const Channels* channels, const TableRoutes* routes,
                 RowScratchPool* pool, UpdateRequest* request,
                 DoneCallback done) {
  std::make_shared<UpdateCall>(channels, routes, pool, request, std::move(done))
      ->Start();
}

}  // namespace persia
