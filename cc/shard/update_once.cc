#include "cc/shard/update_once.h"

#include "cc/base/catch_bad_alloc.h"
#include "cc/shard/request_checks.h"
#include "cc/writing/update_of_slots.h"

namespace persia {
namespace {

constexpr EventKind kLostUpdates{"clients with lost updates",
                                 EventLevel::kWarning, 60};

}  // namespace

Status UpdateOnce::Apply(const std::vector<Table*>& tables,
                         UpdateRequest* request, uint64_t* log_end) {
  if (request->client == 0) {
    return subject_.writer->Update(tables, request, log_end);
  }
  SlotWindows* const windows = subject_.windows;
  const auto begun = windows->Begin(request->client, request->sequence);
  PERSIA_RETURN_IF_ERROR(CheckVerdict(begun.verdict, request->sequence));
  if (begun.verdict == UpdateWindow::Verdict::kApplied) {
    repeated_.fetch_add(1, std::memory_order_relaxed);
    // The update's record may not be durable yet: the reply waits for all
    // records so far.
    if (subject_.journal != nullptr) *log_end = subject_.journal->position();
    return Status();
  }
  if (!subject_.ownership->Knows(request->route)) {
    windows->Finish(request->client, request->sequence, begun, false);
    return Ownership::OtherRoute();
  }
  NoteLost(*request);
  // If memory runs out midway, the update is applied in part. It is not applied
  // again: clients do not retry after kResourceExhausted.
  const Status status = CatchBadAlloc([&] {
    return begun.only == nullptr
               ? subject_.writer->Update(tables, request, log_end)
               : ApplyToSlots(tables, *begun.only, request, log_end);
  });
  windows->Finish(request->client, request->sequence, begun, status.ok());
  return status;
}

// Applies the part of an update that belongs to these slots.
Status UpdateOnce::ApplyToSlots(const std::vector<Table*>& tables,
                                const SlotSet& slots, UpdateRequest* request,
                                uint64_t* log_end) {
  UpdateOfSlots part(*request, slots);
  PERSIA_RETURN_IF_ERROR(
      subject_.writer->Update(tables, part.request(), log_end));
  request->counts = part.request()->counts;
  return Status();
}

void UpdateOnce::NoteLost(const UpdateRequest& request) {
  const uint64_t lost =
      subject_.lost_updates->OnUpdate(request.client, request.sequence);
  if (lost == 0) return;
  TellEvent(subject_.events, kLostUpdates, "client ", request.client,
            ": this shard lost up to ", lost,
            " of its updates, which came after the checkpoint");
}

}  // namespace persia
