// CreateTable over many shards: either all of them have the table, or none has
// it complete.
//
// A shard that lost its part of a table must not silently get an empty one, so
// a table is opened in steps:
//
//   find      every shard reports the state of its part of the table
//   prepare   if no shard's part is complete: shard 0 creates its part, and
//             draws the table's identity unless it has one; then the other
//             shards create theirs, with that identity
//   complete  every shard records that all parts have been prepared
//
// So if the table is complete on one shard, every shard has had a part before,
// and a shard that lacks it when asked after that has lost it. If `find` sees
// both, another program may have created the table between the shards' answers;
// so the call asks once more, without waiting, before it fails. A program that
// ends midway leaves a table that is not complete, and the next program
// continues from there.
//
// Several programs may do this concurrently: all get the identity that shard 0
// drew. An embedding worker applies each step to all of its shards.

#ifndef PERSIA_CC_CLIENT_CREATE_TABLE_CALL_H_
#define PERSIA_CC_CLIENT_CREATE_TABLE_CALL_H_

#include "cc/client/fan_out.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Sets the table's route in `routes`. `channels` and `routes` must outlive the
// call.
void StartCreateTable(const Channels* channels, TableRoutes* routes,
                      CreateTableRequest* request, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CREATE_TABLE_CALL_H_
