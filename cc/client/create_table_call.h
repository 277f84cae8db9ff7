// CreateTable over many shards, so that all of them have the table or none.
//
// A shard that lost its part of a table must not get an empty one in silence,
// so a table is opened in steps:
//
//   find      every shard says what it has of the table
//   prepare   if none has it complete: shard 0 makes its part, and draws the
//             table's identity unless it has one; then the others make theirs,
//             with that identity
//   complete  every shard notes that all have prepared theirs
//
// So if one shard has the table complete, there was a moment when every shard
// had it, and one that is asked after that and lacks it has lost it. That is
// why finding such a table asks once more, and waits for nothing: another
// program may have made it between the shards' answers. What a program left
// that ended midway was never complete, and the next one goes on from it.
//
// Several programs may do so at once: all get the identity that shard 0 drew.
// Behind embedding workers, each address does for a step what the step asks of
// all of its own shards.

#ifndef PERSIA_CC_CLIENT_CREATE_TABLE_CALL_H_
#define PERSIA_CC_CLIENT_CREATE_TABLE_CALL_H_

#include "cc/client/fan_out.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// `channels` and `routes`, which are told of the table, must outlive the call.
void StartCreateTable(const Channels* channels, TableRoutes* routes,
                      CreateTableRequest* request, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CREATE_TABLE_CALL_H_
