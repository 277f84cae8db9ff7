#include <memory>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/client/calls.h"
#include "cc/client/part_client.h"
#include "cc/client/row_split.h"
#include "cc/client/send_anew.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

class UpdateCall : public FanOut {
 public:
  UpdateCall(const CallContext& context, UpdateRequest* request,
             DoneCallback done)
      : FanOut(context.view, kReplyType<UpdateRequest>, request->deadline,
               std::move(done)),
        context_(context),
        request_(request),
        scratch_(context.pool->Lend()) {}

  void Start() {
    const Status status = Prepare();
    if (!status.ok()) return Fail(status);
    replies_.resize(shard_count());
    replied_.resize(shard_count());
    // A server replies kUnavailable to a repeated update while it is still
    // applying the first copy; the update is then sent again.
    Send(ShardsWithWork(scratch_->partition), /*retry_unavailable=*/true);
  }

 private:
  Status Prepare() {
    for (TableUpdate& table : request_->tables) table.acknowledged.clear();
    PERSIA_RETURN_IF_ERROR(Split(request_->tables, *context_.routes, view(),
                                 &scratch_->partition));
    uint64_t bytes = 0;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      for (uint32_t s = 0; s < shard_count(); ++s) bytes += CopiedBytes(t, s);
    }
    if (!scratch_->buffer.Resize(bytes)) {
      return Status(Code::kResourceExhausted,
                    Concat("no memory for ", bytes, " bytes of gradients"));
    }
    free_bytes_ = scratch_->buffer.data();
    return Status();
  }

  // The dtype of a table's gradients. Error feedback keeps what int4 loses by
  // id, which a bag lacks, so gradients of bags are more precise.
  WireDtype DtypeOf(size_t table) const {
    const bool bags = request_->tables[table].ids.combiner != Combiner::kNone;
    return bags && context_.dtype == WireDtype::kInt4 ? WireDtype::kInt8
                                                      : context_.dtype;
  }

  // Whether gradients are sent from the caller's memory, without a copy.
  bool GoInPlace(const VectorPlaces& places) const {
    return context_.dtype == WireDtype::kFloat32 && places.contiguous();
  }

  // The bytes of scratch memory that the shard's share of a table's gradients
  // needs.
  uint64_t CopiedBytes(size_t table, uint32_t shard) const {
    const VectorPlaces places = scratch_->partition.places(table, shard);
    if (GoInPlace(places)) return 0;
    return PaddedBytes(DtypeOf(table), places.count,
                       request_->tables[table].ids.dim);
  }

  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    UpdateRequest part;
    part.client = PartClient(request_->client, view().part_keys[shard]);
    part.sequence = request_->sequence;
    part.generation = request_->generation;
    part.route = view().routes[shard];
    part.trainer = request_->trainer;
    std::vector<WireVectors> gradients;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      const TableUpdate& table = request_->tables[t];
      part.tables.push_back({PartOf(table.ids, scratch_->partition, t, shard),
                             {},
                             table.learning_rate,
                             table.step});
      gradients.push_back(Gradients(t, shard));
    }
    return EncodeUpdate(request_id, part, gradients);
  }

  // Returns the shard's share of a table's gradients as a contiguous array.
  WireVectors Gradients(size_t table, uint32_t shard) {
    const VectorPlaces places = scratch_->partition.places(table, shard);
    const uint32_t dim = request_->tables[table].ids.dim;
    const Span<const float> all = request_->tables[table].gradients;
    if (GoInPlace(places)) {
      return AsWireVectors(all.subspan(places.first * dim, places.count * dim));
    }
    uint8_t* const bytes = free_bytes_;
    free_bytes_ += CopiedBytes(table, shard);
    const WireDtype dtype = DtypeOf(table);
    EncodeVectors(dtype, VectorKind::kGradients, all.data(), places, dim,
                  bytes);
    return {dtype, ConstBytes(bytes, EncodedBytes(dtype, places.count, dim))};
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    PERSIA_RETURN_IF_ERROR(DecodeReply(body, &replies_[shard]));
    replied_[shard] = true;
    return Status();
  }

  bool CanSendAnew() const override { return true; }

  void SendAnew(const std::vector<uint32_t>& shards,
                DoneCallback done) override {
    WhenRoutable(context_, shards, request_->deadline,
                 [this, shards, done = std::move(done)](const Status& status) {
                   const Status sent = status.ok() ? CatchBadAlloc([&] {
                     SendParts(shards, done);
                     return Status();
                   })
                                                   : status;
                   if (!sent.ok()) done(sent);
                 });
  }

  // The parts of several shards, as one request. `places` has for each of a
  // table's vectors its index in the caller's request.
  struct Parts {
    UpdateRequest request;
    std::vector<std::vector<int64_t>> ids;
    std::vector<std::vector<float>> gradients;
    std::vector<std::vector<uint32_t>> places;
  };

  // The parts go out together, so that a shard gets at most one part of what it
  // owns, which it knows by the update's number.
  void SendParts(const std::vector<uint32_t>& shards, DoneCallback done) {
    auto parts = std::make_shared<Parts>();
    UpdateRequest& request = parts->request;
    request.deadline = request_->deadline;
    request.client = request_->client;
    request.sequence = request_->sequence;
    request.generation = request_->generation;
    request.trainer = request_->trainer;
    const size_t tables = request_->tables.size();
    parts->ids.resize(tables);
    parts->gradients.resize(tables);
    parts->places.resize(tables);
    for (size_t t = 0; t < tables; ++t) {
      for (const uint32_t shard : shards) AddPart(t, shard, parts.get());
      const TableUpdate& table = request_->tables[t];
      TableUpdate& own = request.tables.emplace_back();
      own.ids = table.ids;
      own.ids.shard_starts = {};
      own.ids.starts_of = 0;
      own.ids.ids = parts->ids[t];
      if (parts->places[t].empty()) own.ids.combiner = Combiner::kNone;
      if (own.ids.combiner == Combiner::kNone) {
        own.ids.bag_offsets = {};
        own.ids.weights = {};
      }
      own.gradients = parts->gradients[t];
      own.learning_rate = table.learning_rate;
      own.step = table.step;
    }
    context_.service->Update(
        &request, [self = shared_from_this(), this, parts, shards,
                   done = std::move(done)](const Status& status) {
          // The counts of all parts together.
          replies_[shards[0]].counts = parts->request.counts;
          for (const uint32_t shard : shards) replied_[shard] = status.ok();
          const Status listed = CatchBadAlloc([&] {
            if (!status.ok()) TakeAcknowledged(*parts);
            return Status();
          });
          done(listed.ok() ? status : listed);
        });
  }

  void AddPart(size_t table, uint32_t shard, Parts* parts) const {
    const uint32_t dim = request_->tables[table].ids.dim;
    const Span<const int64_t> ids = scratch_->partition.ids(table, shard);
    parts->ids[table].insert(parts->ids[table].end(), ids.begin(), ids.end());
    const VectorPlaces places = scratch_->partition.places(table, shard);
    for (size_t i = 0; i < places.count; ++i) {
      parts->places[table].push_back(static_cast<uint32_t>(places[i]));
    }
    std::vector<float>& gradients = parts->gradients[table];
    const size_t first = gradients.size();
    gradients.resize(first + places.count * dim);
    scratch_->partition.Gather(table, shard, dim,
                               request_->tables[table].gradients.data(),
                               gradients.data() + first);
  }

  // Adds what servers have acknowledged of parts that were sent anew.
  void TakeAcknowledged(const Parts& parts) {
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      for (const uint32_t i : parts.request.tables[t].acknowledged) {
        request_->tables[t].acknowledged.push_back(parts.places[t][i]);
      }
    }
  }

  Status OnAllReplied() override {
    request_->counts = UpdateCounts();
    for (const UpdateRequest& reply : replies_) {
      request_->counts += reply.counts;
    }
    return Status();
  }

  Status OnSomeFailed(const Status& error) override {
    const Status listed = CatchBadAlloc([&] {
      for (uint32_t s = 0; s < shard_count(); ++s) {
        if (replied_[s]) AddAcknowledged(s);
      }
      return Status();
    });
    return listed.ok() ? error : listed;
  }

  void AddAcknowledged(uint32_t shard) {
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      const VectorPlaces places = scratch_->partition.places(t, shard);
      for (size_t i = 0; i < places.count; ++i) {
        request_->tables[t].acknowledged.push_back(
            static_cast<uint32_t>(places[i]));
      }
    }
  }

  const CallContext context_;
  UpdateRequest* const request_;
  const RowScratchPool::Lent scratch_;
  // Points to the unused part of scratch_->buffer.
  uint8_t* free_bytes_ = nullptr;
  // Indexed by shard; only output fields are set.
  std::vector<UpdateRequest> replies_;
  // Indexed by shard; not vector<bool>, since shards reply concurrently.
  std::vector<uint8_t> replied_;
};

}  // namespace

void StartCall(const CallContext& context, UpdateRequest* request,
               DoneCallback done) {
  Begin<UpdateCall>(context, request, std::move(done));
}

}  // namespace persia
