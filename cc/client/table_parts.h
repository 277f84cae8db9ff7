// TableParts: what each shard says that it has of a table, and whether that is
// one table.
//
// Pure functions of the shards' replies.

#ifndef PERSIA_CC_CLIENT_TABLE_PARTS_H_
#define PERSIA_CC_CLIENT_TABLE_PARTS_H_

#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Of one shard.
struct TablePart {
  std::string shard;         // As errors name it.
  CreateTableRequest reply;  // Its outputs alone.
};
using TableParts = std::vector<TablePart>;

// Whether they may be the parts of one table: if any is complete, all are there
// and have one identity. Shards that do not say theirs have any.
bool BelongTogether(const TableParts& parts);

// What there is of the table, as one reply: nothing unless each shard has its
// part, and complete if all are. Precondition: they belong together.
TableState JointState(const TableParts& parts);
// That of those that say it, or 0.
uint64_t JointIdentity(const TableParts& parts);

bool AnyIsComplete(const TableParts& parts);

// kFailedPrecondition, which says which shards have what, and what to do.
// Precondition: they do not belong together.
Status PartsError(const std::string& table, const TableParts& parts);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_TABLE_PARTS_H_
