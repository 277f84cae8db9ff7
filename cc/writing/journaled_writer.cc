#include "cc/writing/journaled_writer.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/writing/table_calls.h"

namespace persia {
namespace {

TableKey KeyOf(const Table& table) { return HashName(table.config().name); }

// Returns the removals of those rows that are not there after all changes.
RowChanges Removed(const RowChanges& changes) {
  const auto is_removal = [](const RowChange& change) {
    return !change.created;
  };
  if (std::none_of(changes.begin(), changes.end(), is_removal)) return {};
  std::unordered_map<int64_t, bool> exists;
  for (const RowChange& change : changes) exists[change.id] = change.created;
  RowChanges removed;
  for (const auto& [id, is_there] : exists) {
    if (!is_there) removed.push_back({id, false});
  }
  return removed;
}

}  // namespace

// The reply waits until the log is durable up to changes_end_, even if this
// lookup created no rows: it may have found rows that another lookup created
// and whose record is not durable yet. If a crash lost that record, the
// client's update would not find those rows.
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
    const uint32_t time = table->LookupPresent(ids, rows, &absent);
    if (!absent.empty()) status = MakeAbsent(table, ids, absent, time, rows);
    if (!table->expires()) return;
    // The uses are logged after the rows that the lookup created, even if
    // creating some rows failed.
    const Status told = LogUses(table, ids, time);
    if (status.ok()) status = told;
  });
  return status;
}

Status JournaledWriter::MakeAbsent(Table* table, Span<const int64_t> ids,
                                   Span<const uint32_t> places, uint32_t time,
                                   Span<float> rows) {
  const size_t dim = table->config().dim;
  std::vector<int64_t> absent;
  for (const uint32_t place : places) absent.push_back(ids[place]);
  std::vector<float> made(absent.size() * dim);
  RowChanges changes;
  {
    std::lock_guard<std::mutex> lock(order_);
    const Status looked = CatchBadAlloc([&] {
      table->LookupAbsent(absent, time, made, &changes);
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

// A read changes no rows. But if its reply shows that rows have expired, the
// table's time is logged, so that they are expired after a recovery too.
Status JournaledWriter::Read(const Tables& tables, LookupRequest* request,
                             uint64_t* log_end) {
  for (size_t t = 0; t < tables.size(); ++t) {
    const TableLookup& lookup = request->tables[t];
    bool met_expired = false;
    LookUp(lookup, [&](Span<const int64_t> ids, Span<float> rows) {
      met_expired = tables[t]->Lookup(ids, /*read_only=*/true, rows,
                                      /*changes=*/nullptr, lookup.absent);
    });
    if (met_expired) TellTime(tables[t], log_end);
  }
  return Status();
}

// The record also has the gradients that the update skips because they are not
// finite or their rows are absent. Replay skips them too.
Status JournaledWriter::Update(const Tables& tables, UpdateRequest* request,
                               uint64_t* log_end) {
  const RecordBody body = RecordBody::Update(*request);
  std::lock_guard<std::mutex> lock(order_);
  PERSIA_RETURN_IF_ERROR(Log(body, log_end));
  return ApplyLogged(&journal_, [&] {
    ApplyAll(tables, request);
    return Status();
  });
}

Status JournaledWriter::Assign(Table* table, const AssignRequest& request,
                               uint64_t* log_end) {
  const RecordBody body = RecordBody::Assign(request);
  RowChanges evicted;
  std::lock_guard<std::mutex> lock(order_);
  // Assigning counts as a use of the rows at the table's current time, so this
  // time is logged first.
  if (table->expires()) PERSIA_RETURN_IF_ERROR(LogTime(table, log_end));
  PERSIA_RETURN_IF_ERROR(MakeRows(table, request.ids));
  PERSIA_RETURN_IF_ERROR(Log(body, log_end));
  PERSIA_RETURN_IF_ERROR(ApplyLogged(&journal_, [&] {
    table->Assign(request.ids, request.weights, request.state, &evicted);
    return Status();
  }));
  if (evicted.empty()) return Status();
  PERSIA_RETURN_IF_ERROR(LogChanges(table, evicted));
  *log_end = changes_end_;
  return Status();
}

// Creates the rows of an Assign before its record is logged. So an Assign that
// exceeds the memory limit is refused without a record, and applying a logged
// Assign need not evict rows.
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
               "assign fewer at once, or raise --memory-limit"));
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

Status JournaledWriter::Place(Table* table, const RawRows& rows,
                              uint64_t* log_end) {
  const RecordBody body = RecordBody::Placed(
      {KeyOf(*table), static_cast<uint32_t>(table->layout().row_bytes),
       rows.ids, rows.bytes});
  RowChanges changes;
  std::lock_guard<std::mutex> lock(order_);
  const Status placed = CatchBadAlloc([&] {
    table->Place(rows, &changes);
    return Status();
  });
  // The rows of a Place that failed are not logged: the caller removes all rows
  // of their slots.
  if (placed.ok()) {
    const Status logged = Log(body, log_end);
    if (!logged.ok()) journal_.Break(logged);
    PERSIA_RETURN_IF_ERROR(logged);
  }
  RowChanges removed;
  const Status found = CatchBadAlloc([&] {
    removed = Removed(changes);
    return Status();
  });
  if (!found.ok()) journal_.Break(found);
  PERSIA_RETURN_IF_ERROR(found);
  if (removed.empty()) return placed;
  PERSIA_RETURN_IF_ERROR(LogChanges(table, removed));
  *log_end = changes_end_;
  return placed;
}

void JournaledWriter::TellTime(Table* table, uint64_t* log_end) {
  if (!table->expires()) return;
  uint64_t end = 0;
  std::lock_guard<std::mutex> lock(order_);
  if (LogTime(table, &end).ok()) *log_end = std::max(*log_end, end);
}

Status JournaledWriter::LogUses(Table* table, Span<const int64_t> ids,
                                uint32_t time) {
  std::lock_guard<std::mutex> lock(order_);
  return LogUsesNow(table, ids, time);
}

Status JournaledWriter::LogUsesNow(Table* table, Span<const int64_t> ids,
                                   uint32_t time) {
  const TableKey key = KeyOf(*table);
  const uint32_t now = table->time();
  uint64_t end = 0;
  PERSIA_RETURN_IF_ERROR(Log(RecordBody::Uses({key, time, now, ids}), &end));
  told_times_[key] = {table, now, end};
  return Status();
}

// Logs nothing if the table's current time is already logged: many calls may
// fall within one unit of that time.
Status JournaledWriter::LogTime(Table* table, uint64_t* log_end) {
  const uint32_t now = table->time();
  const TableKey key = KeyOf(*table);
  const auto told = told_times_.find(key);
  if (told == told_times_.end() || told->second.table != table ||
      told->second.now != now) {
    PERSIA_RETURN_IF_ERROR(LogUsesNow(table, {}, now));
  }
  *log_end = told_times_[key].log_end;
  return Status();
}

Status JournaledWriter::Log(const RecordBody& body, uint64_t* log_end) {
  const auto position = Append(body, &journal_);
  if (!position.ok()) return position.status();
  *log_end = *position + 1;
  return Status();
}

// The changes are already applied to the table. If they cannot be logged, the
// log no longer matches the table, so it is broken and accepts no more records.
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
