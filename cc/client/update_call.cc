#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/client/calls.h"
#include "cc/client/part_client.h"
#include "cc/client/row_split.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

class UpdateCall : public FanOut {
 public:
  UpdateCall(const CallContext& context, UpdateRequest* request,
             DoneCallback done)
      : FanOut(context.channels, kReplyType<UpdateRequest>, request->deadline,
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
    PERSIA_RETURN_IF_ERROR(
        Split(request_->tables, *context_.routes, &scratch_->partition));
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
    part.client = PartClient(request_->client, shard, shard_count());
    part.sequence = request_->sequence;
    part.generation = request_->generation;
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
