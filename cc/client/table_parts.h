// TableParts: the parts of a table that the shards report, and whether they
// belong to the same table.
//
// All functions here are pure functions of the shards' replies.

#ifndef PERSIA_CC_CLIENT_TABLE_PARTS_H_
#define PERSIA_CC_CLIENT_TABLE_PARTS_H_

#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// One shard's part of a table.
struct TablePart {
  std::string shard;         // The shard's name in errors.
  CreateTableRequest reply;  // Only its output fields are set.
};
using TableParts = std::vector<TablePart>;

// Whether `parts` may be the parts of one table. They may not if one part is
// complete and another part is absent or has a different identity. A part
// without an identity matches any identity.
bool BelongTogether(const TableParts& parts);

// The state of the whole table: absent if any part is absent, complete if all
// parts are. Precondition: the parts belong together.
TableState JointState(const TableParts& parts);
// The identity that the shards report (the lowest, if they differ), or 0 if no
// shard reports one.
uint64_t JointIdentity(const TableParts& parts);

bool AnyIsComplete(const TableParts& parts);

// Returns kFailedPrecondition with a message that lists each shard's part and
// tells the user what to do. Precondition: the parts do not belong together.
Status PartsError(const std::string& table, const TableParts& parts);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_TABLE_PARTS_H_
