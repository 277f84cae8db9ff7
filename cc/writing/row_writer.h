// RowWriter: how a LocalService changes rows: directly, or with a recovery log.
//
// Requests must have been validated. Thread-safe; calls block on the tables'
// locks, and while the log's batch is full. Throws std::bad_alloc.
//
// Callers initialize `*log_end` to 0. Calls set it to a log position: the
// outcome may be reported once all records before that position are durable.

#ifndef PERSIA_CC_WRITING_ROW_WRITER_H_
#define PERSIA_CC_WRITING_ROW_WRITER_H_

#include <cstdint>
#include <vector>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/store/table.h"

namespace persia {

class RowWriter {
 public:
  // The tables of a request, in the request's order.
  using Tables = std::vector<Table*>;

  virtual ~RowWriter() = default;

  // A read-only lookup, which creates no rows.
  virtual Status Read(const Tables& tables, LookupRequest* request,
                      uint64_t* log_end) = 0;
  // A training lookup, which may create rows.
  virtual Status Lookup(const Tables& tables, LookupRequest* request,
                        uint64_t* log_end) = 0;
  // Applies an update, and adds its counters to request->counts.
  virtual Status Update(const Tables& tables, UpdateRequest* request,
                        uint64_t* log_end) = 0;
  virtual Status Assign(Table* table, const AssignRequest& request,
                        uint64_t* log_end) = 0;
  virtual Status Remove(Table* table, RemoveRequest* request,
                        uint64_t* log_end) = 0;

  // Sets whole rows that come from another shard, in the table's layout. The
  // table may evict rows. kResourceExhausted if there is no memory for them.
  virtual Status Place(Table* table, const RawRows& rows,
                       uint64_t* log_end) = 0;

  // Logs the table's time, if its rows expire. Call it before a reply shows
  // that rows have expired, so that they are expired after a recovery too. If
  // the log has failed, the time is not logged, and reads continue.
  virtual void TellTime(Table* table, uint64_t* log_end) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_WRITING_ROW_WRITER_H_
