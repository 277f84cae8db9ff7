#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/client/calls.h"
#include "cc/client/part_client.h"
#include "cc/client/row_split.h"
#include "cc/client/send_anew.h"
#include "cc/wire/messages.h"
#include "cc/wire/vector_kernels.h"

namespace persia {
namespace {

class LookupCall : public SentAnewByParts<FanOut> {
 public:
  LookupCall(const CallContext& context, LookupRequest* request,
             DoneCallback done)
      : SentAnewByParts(context, request->deadline, context.view,
                        kReplyType<LookupRequest>, request->deadline,
                        std::move(done)),
        request_(request),
        scratch_(context.pool->Lend()) {}

  void Start() {
    const Status status =
        Split(request_->tables, *context_.routes, view(), &scratch_->partition);
    if (!status.ok()) return Fail(status);
    shards_ = ShardsWithWork(scratch_->partition);
    generations_.resize(shard_count());
    outages_.resize(shard_count());
    Send(shards_);
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    LookupRequest part;
    part.read_only = request_->read_only;
    part.client = PartClient(request_->client, view().part_keys[shard]);
    part.visible_sequence = request_->visible_sequence;
    part.route = view().routes[shard];
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      const TableLookup& table = request_->tables[t];
      TableLookup& own = part.tables.emplace_back();
      own.ids = PartOf(table.ids, scratch_->partition, t, shard);
      own.absent = table.absent;
    }
    return EncodeLookup(request_id, part, context_.dtype);
  }

  // Contiguous float32 rows need neither conversion nor scattering, so they are
  // read into the caller's memory directly.
  ReplyPlaces PlacesOf(uint32_t shard) override {
    if (context_.dtype != WireDtype::kFloat32) return ReplyPlaces();
    ReplyPlaces places{kLookupReplyHeadBytes, {}};
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      const VectorPlaces rows = scratch_->partition.places(t, shard);
      const size_t dim = request_->tables[t].ids.dim;
      const Span<float> all = request_->tables[t].rows;
      if (!rows.contiguous()) return ReplyPlaces();
      if (rows.count == 0) continue;
      const Span<float> own = all.subspan(rows.first * dim, rows.count * dim);
      places.vectors.emplace_back(reinterpret_cast<uint8_t*>(own.data()),
                                  own.size_bytes());
    }
    return places;
  }

  Status OnPlacedReply(uint32_t shard, ConstBytes bytes) override {
    LookupReplyHead head;
    PERSIA_RETURN_IF_ERROR(DecodeLookupReplyHead(bytes, &head));
    generations_[shard] = head.generation;
    if (head.dtype == WireDtype::kFloat32) return Status();
    return Status(Code::kDataLoss,
                  "answered with another dtype than the one requested");
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    const Partition& partition = scratch_->partition;
    std::vector<VectorsShape> shapes;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      shapes.push_back(
          {partition.places(t, shard).count, request_->tables[t].ids.dim});
    }
    std::vector<WireVectors> rows;
    PERSIA_RETURN_IF_ERROR(
        DecodeLookupReply(body, shapes, &generations_[shard], &rows));
    for (size_t t = 0; t < rows.size(); ++t) {
      DecodeVectors(rows[t], partition.places(t, shard), shapes[t].dim,
                    request_->tables[t].rows.data());
    }
    return Status();
  }

  Status OnFailed(uint32_t shard, const Status& error) override {
    if (!request_->zeros_for_outages || !IsOutage(error)) return error;
    outages_[shard] = error;
    return Status();
  }

  // A shard's part, as a request of its own.
  struct Part {
    LookupRequest request;
    std::vector<std::vector<float>> rows;
  };

  void SendPart(uint32_t shard, DoneCallback done) override {
    auto part = std::make_shared<Part>();
    part->request.deadline = request_->deadline;
    part->request.read_only = request_->read_only;
    part->request.client = request_->client;
    part->request.visible_sequence = request_->visible_sequence;
    part->request.zeros_for_outages = request_->zeros_for_outages;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      const TableLookup& table = request_->tables[t];
      TableLookup& own = part->request.tables.emplace_back();
      own.ids = PartOf(table.ids, scratch_->partition, t, shard);
      own.absent = table.absent;
      part->rows.emplace_back(own.ids.vectors() * own.ids.dim);
      own.rows = part->rows.back();
    }
    context_.service->Lookup(&part->request,
                             [self = shared_from_this(), this, part, shard,
                              done = std::move(done)](const Status& status) {
                               if (!status.ok())
                                 return done(OnFailed(shard, status));
                               done(CatchBadAlloc([&] {
                                 TakePart(shard, *part);
                                 return Status();
                               }));
                             });
  }

  void TakePart(uint32_t shard, const Part& part) {
    generations_[shard] = part.request.generation;
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      TableLookup& table = request_->tables[t];
      const VectorPlaces places = scratch_->partition.places(t, shard);
      ScatterFloats(part.rows[t].data(), places, table.ids.dim,
                    table.rows.data());
      std::lock_guard<std::mutex> lock(unanswered_mutex_);
      for (const uint32_t i : part.request.tables[t].unanswered) {
        table.unanswered.push_back(static_cast<uint32_t>(places[i]));
      }
    }
  }

  Status OnAllReplied() override {
    std::vector<uint64_t> generations;
    for (const uint32_t s : shards_) {
      if (outages_[s].ok()) {
        generations.push_back(generations_[s]);
      } else {
        SetZeros(s);
      }
    }
    if (generations.empty()) return outages_[shards_.front()];
    return JoinGenerations(generations, &request_->generation);
  }

  void SetZeros(uint32_t shard) {
    for (size_t t = 0; t < request_->tables.size(); ++t) {
      TableLookup& table = request_->tables[t];
      const VectorPlaces places = scratch_->partition.places(t, shard);
      for (size_t i = 0; i < places.count; ++i) {
        std::fill_n(table.rows.data() + places[i] * table.ids.dim,
                    table.ids.dim, 0.0f);
        table.unanswered.push_back(static_cast<uint32_t>(places[i]));
      }
    }
  }

  LookupRequest* const request_;
  const RowScratchPool::Lent scratch_;
  std::vector<uint32_t> shards_;  // The shards that receive a request.
  // The shards' generations, indexed by shard.
  std::vector<uint64_t> generations_;
  // Indexed by shard: the error of each shard whose rows were replaced by
  // zeros.
  std::vector<Status> outages_;
  std::mutex unanswered_mutex_;  // Held while parts that were sent anew end.
};

}  // namespace

void StartCall(const CallContext& context, LookupRequest* request,
               DoneCallback done) {
  Begin<LookupCall>(context, request, std::move(done));
}

}  // namespace persia
