#include "cc/pipeline/feedback_service.h"

#include <utility>

#include "cc/base/byte_buffer.h"
#include "cc/base/catch_bad_alloc.h"

namespace persia {
namespace {

// The pool retains the memory of this many updates under way.
constexpr size_t kMaxIdle = 8;

// Whether the vectors of a table have residuals. Malformed tables, which the
// inner service will refuse, have none.
bool HasResiduals(const TableUpdate& table) {
  const TableIds& ids = table.ids;
  return ids.combiner == Combiner::kNone && ids.dim > 0 &&
         table.gradients.size() == ids.ids.size() * ids.dim;
}

Residuals::Gradients GradientsOf(const TableUpdate& table,
                                 Span<const float> sums) {
  return {table.ids.table, table.ids.dim, table.ids.ids, table.gradients, sums};
}

}  // namespace

struct FeedbackService::Sent {
  UpdateRequest request;
  ByteBuffer sums;
  std::vector<uint64_t> eras;  // One per table: see Residuals.
};

FeedbackService::FeedbackService(std::unique_ptr<EmbeddingService> inner,
                                 uint64_t rows_per_table)
    : ForwardingService(std::move(inner)),
      residuals_(rows_per_table),
      sent_(kMaxIdle) {}

FeedbackService::~FeedbackService() { EndInner(); }

void FeedbackService::Update(UpdateRequest* request, DoneCallback done) {
  if (!EnterGeneration(request->generation)) {
    return PassOnEarlier(request, std::move(done));
  }
  // Shared, because callbacks must be copyable.
  const std::shared_ptr<Sent> sent = sent_.Lend();
  const Status prepared =
      CatchBadAlloc([&] { return Prepare(*request, sent.get()); });
  if (!prepared.ok()) return done(prepared);
  inner()->Update(&sent->request, [this, request, sent, done = std::move(done)](
                                      const Status& status) {
    request->counts = sent->request.counts;
    if (!status.ok()) TakeBack(*sent, request);
    done(status);
  });
}

bool FeedbackService::EnterGeneration(uint64_t generation) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (generation_.has_value() && generation < *generation_) return false;
  if (generation_.has_value() && generation > *generation_) {
    residuals_.Clear();
  }
  generation_ = generation;
  return true;
}

void FeedbackService::PassOnEarlier(UpdateRequest* request, DoneCallback done) {
  inner()->Update(request, [this, generation = request->generation,
                            done = std::move(done)](const Status& status) {
    if (status.ok()) RestoreResiduals({}, generation);
    done(status);
  });
}

Status FeedbackService::Prepare(const UpdateRequest& request, Sent* sent) {
  sent->request = request;
  sent->eras.assign(request.tables.size(), 0);
  uint64_t floats = 0;
  for (const TableUpdate& table : request.tables) {
    if (HasResiduals(table)) floats += table.gradients.size();
  }
  if (!sent->sums.Resize(floats * sizeof(float))) {
    return Status(Code::kResourceExhausted,
                  Concat("no memory for ", floats, " gradients"));
  }
  Span<float> rest = sent->sums.As<float>(floats);
  for (size_t t = 0; t < request.tables.size(); ++t) {
    const TableUpdate& table = request.tables[t];
    if (!HasResiduals(table)) continue;
    const Span<float> sums = rest.first(table.gradients.size());
    sent->eras[t] = residuals_.FeedBack(GradientsOf(table, {}), sums);
    sent->request.tables[t].gradients = sums;
    rest = rest.subspan(sums.size());
  }
  return Status();
}

// Memory may run out here; the residuals then stay as the update left them.
void FeedbackService::TakeBack(const Sent& sent, UpdateRequest* request) {
  (void)CatchBadAlloc([&] {
    for (size_t t = 0; t < request->tables.size(); ++t) {
      TableUpdate& table = request->tables[t];
      const TableUpdate& tried = sent.request.tables[t];
      table.acknowledged = tried.acknowledged;
      if (!HasResiduals(table)) continue;
      residuals_.TakeBack(GradientsOf(table, tried.gradients),
                          tried.acknowledged, sent.eras[t]);
    }
    return Status();
  });
}

void FeedbackService::Assign(AssignRequest* request, DoneCallback done) {
  residuals_.Forget(request->table, request->ids);
  inner()->Assign(request, std::move(done));
}

void FeedbackService::Remove(RemoveRequest* request, DoneCallback done) {
  residuals_.Forget(request->table, request->ids);
  inner()->Remove(request, std::move(done));
}

void FeedbackService::DropTable(DropTableRequest* request, DoneCallback done) {
  residuals_.ForgetTable(request->table);
  inner()->DropTable(request, std::move(done));
}

void FeedbackService::RestoreResiduals(const std::vector<TableResiduals>& saved,
                                       uint64_t generation) {
  std::lock_guard<std::mutex> lock(mutex_);
  residuals_.Restore(saved);
  generation_ = generation;
}

}  // namespace persia
