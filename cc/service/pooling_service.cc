#include "cc/service/pooling_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/catch_bad_alloc.h"
#include "cc/service/forwarding_service.h"
#include "cc/service/pooling.h"

namespace persia {
namespace {

constexpr size_t kMaxBagIds = (size_t{1} << 31) - 1;  // Dedupe's limit.

// A table of a request whose bags are turned into unique ids.
struct Bags {
  size_t table = 0;  // The table's index in the request.
  BagPooler pooler;
  ByteBuffer memory;  // The unique ids' rows, or their gradients.
  Span<float> rows;
};

// Checks the bags of a table. `floats` is the size of the array for the bags'
// vectors; `what` names that array in the error.
Status CheckTable(const TableIds& ids, const char* what, size_t floats) {
  PERSIA_RETURN_IF_ERROR(CheckBags(ids));
  if (ids.ids.size() > kMaxBagIds) {
    return InvalidArgument("the bags of a request may have at most ",
                           kMaxBagIds, " ids, received ", ids.ids.size());
  }
  const size_t expected = ids.vectors() * ids.dim;
  if (floats == expected) return Status();
  return InvalidArgument(what, " must have ", ids.vectors(), " x ", ids.dim,
                         " floats, received ", floats);
}

Status Unite(const TableIds& ids, size_t table, Bags* bags) {
  bags->table = table;
  bags->pooler.Build(ids);
  const size_t floats = bags->pooler.unique_ids().size() * ids.dim;
  const size_t bytes = floats * sizeof(float);
  if (bytes > kMaxPooledRowBytes || !bags->memory.Resize(bytes)) {
    return Status(Code::kResourceExhausted,
                  Concat("the rows of a request's bags take ", bytes,
                         " bytes, which is too much: use smaller batches"));
  }
  bags->rows = bags->memory.As<float>(floats);
  return Status();
}

TableIds UniqueIdsOf(const Bags& bags, const TableIds& of_bags) {
  TableIds unique;
  unique.table = of_bags.table;
  unique.dim = of_bags.dim;
  unique.ids = bags.pooler.unique_ids();
  return unique;
}

struct PooledLookup {
  LookupRequest* outer = nullptr;
  LookupRequest inner;
  std::vector<Bags> bags;

  Status Prepare() {
    inner = *outer;
    for (size_t t = 0; t < outer->tables.size(); ++t) {
      const TableLookup& table = outer->tables[t];
      if (!HasBags(table.ids)) continue;
      PERSIA_RETURN_IF_ERROR(CheckTable(table.ids, "rows", table.rows.size()));
      Bags& united = bags.emplace_back();
      PERSIA_RETURN_IF_ERROR(Unite(table.ids, t, &united));
      inner.tables[t].ids = UniqueIdsOf(united, table.ids);
      inner.tables[t].rows = united.rows;
    }
    return Status();
  }

  void Finish() {
    outer->generation = inner.generation;
    for (const Bags& united : bags) {
      united.pooler.Pool(united.rows, outer->tables[united.table].rows);
    }
  }
};

struct PooledUpdate {
  UpdateRequest* outer = nullptr;
  UpdateRequest inner;
  std::vector<Bags> bags;

  Status Prepare() {
    inner = *outer;
    for (size_t t = 0; t < outer->tables.size(); ++t) {
      const TableUpdate& table = outer->tables[t];
      if (!HasBags(table.ids)) continue;
      PERSIA_RETURN_IF_ERROR(
          CheckTable(table.ids, "gradients", table.gradients.size()));
      Bags& united = bags.emplace_back();
      PERSIA_RETURN_IF_ERROR(Unite(table.ids, t, &united));
      united.pooler.Unpool(table.gradients, united.rows);
      inner.tables[t].ids = UniqueIdsOf(united, table.ids);
      inner.tables[t].gradients = united.rows;
    }
    return Status();
  }

  void Finish() { outer->counts = inner.counts; }
};

class PoolingService : public ForwardingService {
 public:
  using ForwardingService::ForwardingService;

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    inner()->CreateTable(request,
                         [request, done = std::move(done)](Status status) {
                           request->takes_bags = status.ok();
                           done(std::move(status));
                         });
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    Pass<PooledLookup>(&EmbeddingService::Lookup, request, std::move(done));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    Pass<PooledUpdate>(&EmbeddingService::Update, request, std::move(done));
  }

 private:
  template <typename Pooled, typename Request>
  void Pass(void (EmbeddingService::*call)(Request*, DoneCallback),
            Request* request, DoneCallback done) {
    if (!HasBags(*request)) return (inner()->*call)(request, std::move(done));
    std::shared_ptr<Pooled> pooled;
    const Status status = CatchBadAlloc([&] {
      pooled = std::make_shared<Pooled>();
      pooled->outer = request;
      return pooled->Prepare();
    });
    if (!status.ok()) return done(status);
    (inner()->*call)(&pooled->inner,
                     [pooled, done = std::move(done)](Status outcome) {
                       if (outcome.ok()) pooled->Finish();
                       done(std::move(outcome));
                     });
  }
};

}  // namespace

std::unique_ptr<EmbeddingService> MakePoolingService(
    std::unique_ptr<EmbeddingService> inner) {
  return std::make_unique<PoolingService>(std::move(inner));
}

}  // namespace persia
