// RowWriter: how a LocalService changes rows: at once, or so that a journal can
// tell.
//
// Requests were checked before. Thread-safe; blocks as tables do, and while a
// log's batch is full. Throws std::bad_alloc.
//
// Calls set `*log_end`, which is 0 before, to what must be durable of a journal
// before anybody is told of their outcome: the records before that position.

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
  // Those of a request, in the order of its parts.
  using Tables = std::vector<Table*>;

  virtual ~RowWriter() = default;

  // Of a lookup that makes none.
  virtual Status Read(const Tables& tables, LookupRequest* request,
                      uint64_t* log_end) = 0;
  // Of a training lookup, which may make rows.
  virtual Status Lookup(const Tables& tables, LookupRequest* request,
                        uint64_t* log_end) = 0;
  // Adds to request->counts.
  virtual Status Update(const Tables& tables, UpdateRequest* request,
                        uint64_t* log_end) = 0;
  virtual Status Assign(Table* table, const AssignRequest& request,
                        uint64_t* log_end) = 0;
  virtual Status Remove(Table* table, RemoveRequest* request,
                        uint64_t* log_end) = 0;

  // Before somebody is told, by whatever reads, that rows of the table have
  // expired. Reads go on where a journal does not: then it is not told.
  virtual void TellTime(Table* table, uint64_t* log_end) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_ROW_WRITER_H_
