#include "cc/service/journaled_writer.h"

#include <algorithm>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/service/table_calls.h"

namespace persia {
namespace {

TableKey KeyOf(const Table& table) { return HashName(table.config().name); }

}  // namespace

// The rows' next update may be logged before this lookup's answer is read: if
// it was not for changes_end_, a crash could leave it without its rows.
Status JournaledWriter::Lookup(const Tables& tables, LookupRequest* request,
                               uint64_t* log_end) {
  for (size_t t = 0; t < tables.size(); ++t) {
    PERSIA_RETURN_IF_ERROR(LookUpTable(tables[t], request->tables[t]));
  }
  *log_end = changes_end_;
  return Status();
}

Status JournaledWriter::LookUpTable(Table* table, const TableLookup& lookup) {
  Status status;
  LookUp(lookup, [&](Span<const int64_t> ids, Span<float> rows) {
    std::vector<uint32_t> absent;
    table->LookupPresent(ids, rows, &absent);
    if (!absent.empty()) status = MakeAbsent(table, ids, absent, rows);
  });
  return status;
}

Status JournaledWriter::MakeAbsent(Table* table, Span<const int64_t> ids,
                                   Span<const uint32_t> places,
                                   Span<float> rows) {
  const size_t dim = table->config().dim;
  std::vector<int64_t> absent;
  for (const uint32_t place : places) absent.push_back(ids[place]);
  std::vector<float> made(absent.size() * dim);
  RowChanges changes;
  {
    std::lock_guard<std::mutex> lock(order_);
    const Status looked = CatchBadAlloc([&] {
      table->Lookup(absent, /*read_only=*/false, made, &changes);
      return Status();
    });
    PERSIA_RETURN_IF_ERROR(LogChanges(table, changes));
    PERSIA_RETURN_IF_ERROR(looked);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    std::copy_n(made.data() + i * dim, dim, rows.data() + places[i] * dim);
  }
  return Status();
}

// Done with a gradient that is not finite, or whose row is absent, it changes
// as little as the first time.
Status JournaledWriter::Update(const Tables& tables, UpdateRequest* request,
                               uint64_t* log_end) {
  const RecordBody body = RecordBody::Update(*request);
  std::lock_guard<std::mutex> lock(order_);
  PERSIA_RETURN_IF_ERROR(Log(body, log_end));
  const Status applied = CatchBadAlloc([&] {
    ApplyAll(tables, request);
    return Status();
  });
  if (!applied.ok()) journal_.Break(applied);  // Only a part was done.
  return applied;
}

Status JournaledWriter::Assign(Table* table, const AssignRequest& request,
                               uint64_t* log_end) {
  const RecordBody body = RecordBody::Assign(request);
  RowChanges evicted;
  std::lock_guard<std::mutex> lock(order_);
  PERSIA_RETURN_IF_ERROR(MakeRows(table, request.ids));
  PERSIA_RETURN_IF_ERROR(Log(body, log_end));
  const Status assigned = CatchBadAlloc([&] {
    table->Assign(request.ids, request.weights, request.state, &evicted);
    return Status();
  });
  if (!assigned.ok()) journal_.Break(assigned);
  PERSIA_RETURN_IF_ERROR(assigned);
  if (evicted.empty()) return Status();
  PERSIA_RETURN_IF_ERROR(LogChanges(table, evicted));
  *log_end = changes_end_;
  return Status();
}

// Beforehand, so that the memory limit refuses it before it is logged, and
// nothing needs to make room once it is.
Status JournaledWriter::MakeRows(Table* table, Span<const int64_t> ids) {
  RowChanges changes;
  const Status made = CatchBadAlloc([&] {
    table->Create(ids, &changes);
    const size_t before = changes.size();
    table->Create(ids, &changes);
    if (changes.size() == before) return Status();
    return Status(
        Code::kResourceExhausted,
        Concat("table \"", table->config().name, "\" cannot take ", ids.size(),
               " rows at once within the memory limit: "
               "set fewer, or raise --memory-limit"));
  });
  PERSIA_RETURN_IF_ERROR(LogChanges(table, changes));
  return made;
}

Status JournaledWriter::Remove(Table* table, RemoveRequest* request,
                               uint64_t* log_end) {
  RowChanges changes;
  for (const int64_t id : request->ids) changes.push_back({id, false});
  std::lock_guard<std::mutex> lock(order_);
  PERSIA_RETURN_IF_ERROR(LogChanges(table, changes));
  request->removed = table->Remove(request->ids);
  *log_end = changes_end_;
  return Status();
}

Status JournaledWriter::Log(const RecordBody& body, uint64_t* log_end) {
  const auto position = Append(body, &journal_);
  if (!position.ok()) return position.status();
  *log_end = *position + 1;
  return Status();
}

// These were done before: if they cannot be logged, nothing later can.
Status JournaledWriter::LogChanges(Table* table, const RowChanges& changes) {
  if (changes.empty()) return Status();
  const Status logged = CatchBadAlloc([&] {
    uint64_t end = 0;
    PERSIA_RETURN_IF_ERROR(
        Log(RecordBody::Changes(KeyOf(*table), changes), &end));
    changes_end_ = end;
    return Status();
  });
  if (!logged.ok()) journal_.Break(logged);
  return logged;
}

}  // namespace persia
