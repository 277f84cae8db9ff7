// TableMaker: how a store carries out CreateTableRequests.
//
// Thread-safe, but callers must be inside the service's Gate, or have closed
// it. Blocks for no longer than it takes to create a table.

#ifndef PERSIA_CC_SHARD_TABLE_MAKER_H_
#define PERSIA_CC_SHARD_TABLE_MAKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/journal/journal.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/ownership.h"
#include "cc/store/store.h"

namespace persia {

class TableMaker {
 public:
  // What the TableMaker uses. All must outlive the TableMaker.
  struct Subject {
    Store* store;
    const std::atomic<uint64_t>* generation;
    Journal* journal;  // Null without a recovery log.
    EventLog* events;  // May be null.
    const Ownership* ownership;
  };

  explicit TableMaker(const Subject& subject)
      : subject_(subject),
        tables_end_(subject.journal == nullptr ? 0
                                               : subject.journal->position()) {}

  // Performs the request's OpeningStep and sets the request's outputs. They are
  // durable once the log is durable up to `*log_end`.
  Status Do(CreateTableRequest* request, uint64_t* log_end);

  // Logs the settings of `table`. Call it before `table` replaces a table of
  // the same name with other settings.
  Status LogChanged(const Table& table);

 private:
  // The functions below require that making_ is held.
  Result<Table*> Make(const CreateTableRequest& request);
  Status Add(std::shared_ptr<Table> table);
  Status Change(const CreateTableRequest& request, Table* table);
  Status Log(const TableConfig& config, const TableIdentity& identity);

  const Subject subject_;
  std::mutex making_;
  // Log position after the last Table record. Guarded by making_.
  uint64_t tables_end_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_TABLE_MAKER_H_
