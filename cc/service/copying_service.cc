#include "cc/service/copying_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/service/pooling.h"

namespace persia {

void CopyingService::End() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  EndInner();
}

void CopyingService::NoteGeneration(uint64_t generation) {
  if (generation_ == generation) return;
  // There are no copies before the first generation is known.
  const bool is_first = !generation_.has_value();
  generation_ = generation;
  if (!is_first) EndAllCopies();
}

void CopyingService::Lookup(LookupRequest* request, DoneCallback done) {
  if (HasBags(*request) || !CopiesMayAnswer(*request)) {
    return inner()->Lookup(request, std::move(done));
  }
  std::unique_ptr<CachedLookup> lookup;
  const Status status =
      CatchBadAlloc([&] { return Prepare(request, &lookup); });
  if (!status.ok()) return done(status);
  if (lookup->FinishFromCopies()) return done(Status());
  Send(std::move(lookup), std::move(done));
}

Status CopyingService::Prepare(LookupRequest* request,
                               std::unique_ptr<CachedLookup>* lookup) {
  CachedLookup::Moment moment;
  std::vector<std::shared_ptr<RowCache>> caches;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    moment = TakeMoment(*request);
    moment.generation = generation_.value_or(0);
    for (const TableLookup& table : request->tables) {
      caches.push_back(CacheOf(table));
    }
  }
  *lookup = std::make_unique<CachedLookup>(request, moment);
  for (const auto& cache : caches) {
    PERSIA_RETURN_IF_ERROR((*lookup)->AddTable(cache));
  }
  return Status();
}

void CopyingService::Send(std::shared_ptr<CachedLookup> lookup,
                          DoneCallback done) {
  LookupRequest* const rest = lookup->inner();
  inner()->Lookup(rest, [this, lookup = std::move(lookup),
                         done = std::move(done)](Status status) {
    if (!status.ok()) return done(std::move(status));
    bool stopping = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      NoteGeneration(lookup->inner()->generation);
      stopping = stopping_;
    }
    if (lookup->MixesGenerations()) {
      if (stopping) return done(Status(Code::kCancelled, "the service ended"));
      return inner()->Lookup(lookup->outer(), done);
    }
    lookup->Finish();
    done(Status());
  });
}

}  // namespace persia
