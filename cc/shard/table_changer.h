// TableChanger: takes tables away from under other calls, to drop or replace
// them or to change their optimizers.
//
// Its functions block while they close the gate, and may take long to free
// memory: threads that serve requests must not call them.

#ifndef PERSIA_CC_SHARD_TABLE_CHANGER_H_
#define PERSIA_CC_SHARD_TABLE_CHANGER_H_

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/following/followers.h"
#include "cc/journal/journal.h"
#include "cc/saving/checkpoints.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/ownership.h"
#include "cc/shard/table_maker.h"
#include "cc/store/store.h"
#include "cc/writing/row_writer.h"

namespace persia {

class TableChanger {
 public:
  // All must outlive this object. `journal` and `events` may be null.
  struct Subject {
    Store* store;
    TableMaker* maker;
    RowWriter* writer;
    const Ownership* ownership;
    Checkpoints* checkpoints;
    Followers* followers;
    Journal* journal;
    EventLog* events;
  };

  explicit TableChanger(const Subject& subject) : subject_(subject) {}

  // Whether the request must change the optimizer of an existing table, whose
  // other settings match the request. Callers must be inside the gate.
  bool ChangesOptimizer(const CreateTableRequest& request) const;
  Status ChangeOptimizer(const CreateTableRequest& request);

  // Blocks until the drop is durable, if there is a journal.
  Status Drop(const DropTableRequest& request);

  // Drops a table that the cluster has dropped while this shard was no member.
  // Does nothing if there is none, or if a program is creating one.
  Status DropStale(const TableConfig& config);

  // Gives a shard that owns no slots a table of its cluster, without rows, in
  // place of the one of that name that it has from an earlier time: from before
  // a restore, or before the table was dropped and created again. Does nothing
  // if it has that table already, or none. kFailedPrecondition if it owns
  // slots.
  Status ReplaceStale(const TableConfig& config, const TableIdentity& identity);

 private:
  Status ReplaceOptimizer(const CreateTableRequest& request, bool* taken);
  Status Replace(const TableConfig& config, const TableIdentity& identity,
                 bool* taken);
  Status LogDrop(const DropTableRequest& request, uint64_t* log_end);

  const Subject subject_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_TABLE_CHANGER_H_
