// RowWriter: how a LocalService changes rows: directly, or with a recovery log.
//
// Requests must have been validated. Thread-safe; blocks as tables do, and
// while the log's batch is full. Throws std::bad_alloc.
//
// Calls set `*log_end`, which is 0 before, to the log position that must be
// durable before the outcome is reported: all records before that position.

#ifndef PERSIA_CC_SERVICE_ROW_WRITER_H_
#define PERSIA_CC_SERVICE_ROW_WRITER_H_

#include <cstdint>
#include <vector>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/store/table.h"

namespace persia {

class RowWriter {
 public:
  // A request's tables, in its order.
  using Tables = std::vector<Table*>;

  virtual ~RowWriter() = default;

  // A read-only lookup, which creates no rows.
  virtual Status Read(const Tables& tables, LookupRequest* request,
                      uint64_t* log_end) = 0;
  // A training lookup, which may create rows.
  virtual Status Lookup(const Tables& tables, LookupRequest* request,
                        uint64_t* log_end) = 0;
  // Adds to request->counts.
  virtual Status Update(const Tables& tables, UpdateRequest* request,
                        uint64_t* log_end) = 0;
  virtual Status Assign(Table* table, const AssignRequest& request,
                        uint64_t* log_end) = 0;
  virtual Status Remove(Table* table, RemoveRequest* request,
                        uint64_t* log_end) = 0;

  // Logs the table's time, if its rows expire. Call it before a reply shows
  // that rows have expired, so that they are expired after a recovery too.
  // Reads continue when the log has failed: then the time is not logged.
  virtual void TellTime(Table* table, uint64_t* log_end) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_ROW_WRITER_H_
