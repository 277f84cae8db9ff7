// TableMaker: what a store does about CreateTableRequests.
//
// Thread-safe, but whoever asks is inside the service's gate. Blocks for no
// longer than it takes to make a table.

#ifndef PERSIA_CC_SERVICE_TABLE_MAKER_H_
#define PERSIA_CC_SERVICE_TABLE_MAKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/journal/journal.h"
#include "cc/service/embedding_service.h"
#include "cc/store/store.h"

namespace persia {

class TableMaker {
 public:
  // All must outlive it.
  struct Subject {
    Store* store;
    const std::atomic<uint64_t>* generation;
    Journal* journal;  // Or null.
    EventLog* events;  // Or null.
  };

  explicit TableMaker(const Subject& subject) : subject_(subject) {}

  // Does the request's step, and fills its outputs. What they say is durable
  // once the log is, up to `*log_end`.
  Status Do(CreateTableRequest* request, uint64_t* log_end);

  // To be called before a table takes the place of one with other settings.
  Status LogChanged(const Table& table);

 private:
  // These expect the lock.
  Result<Table*> Make(const CreateTableRequest& request);
  Status Add(std::shared_ptr<Table> table);
  Status Change(const CreateTableRequest& request, Table* table);
  Status Log(const TableConfig& config, const TableIdentity& identity);

  const Subject subject_;
  std::mutex making_;
  uint64_t tables_end_ = 0;  // Of the log, where all tables are. making_'s.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_TABLE_MAKER_H_
