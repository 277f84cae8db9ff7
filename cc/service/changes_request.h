// ChangesRequest: how a follower asks a shard what changed there.
//
// A follower begins with all rows of all tables, with what changed since a
// checkpoint whose rows it has, or with nothing; it continues with what changes
// since: a delta per request. A request for the next delta acknowledges that
// the one before was applied. A request for the same delta again, because its
// reply was lost, returns the same ids with their present rows. A follower that
// the shard does not know starts over, as the reply says: the shard restarted,
// was restored, forgot the follower or had no memory to note every change. A
// request for no rows ends the follower: the shard frees what it noted for it,
// and returns nothing.

#ifndef PERSIA_CC_SERVICE_CHANGES_REQUEST_H_
#define PERSIA_CC_SERVICE_CHANGES_REQUEST_H_

#include <cstdint>
#include <vector>

#include "cc/base/clock.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

// How far a follower is.
struct FollowPosition {
  // Random, not 0: identifies the follower.
  uint64_t follower = 0;
  // The epoch and version of the last delta that it applied; zeros: none. Each
  // beginning is an epoch, with a random number; its deltas have the versions
  // 1, 2, 3, ...
  uint64_t epoch = 0;
  uint64_t version = 0;
  // The newest checkpoint of this shard whose rows it is known to have, or
  // newer ones; 0: none. kNow: it needs no rows from before this request.
  static constexpr uint64_t kNow = ~uint64_t{0};
  uint64_t base_save = 0;
};

// What a delta begins with.
enum class Begins : uint32_t {
  kNothing = 0,  // It continues from the one before.
  // What changed since the position's base_save, or from now on.
  kSinceSave = 1,
  // All rows. Once a delta is complete, the follower must drop the rows of this
  // shard that it has not received since this beginning.
  kWhole = 2,
};
inline constexpr Begins kLastBegins = Begins::kWhole;

// What happened to a table before the row changes in the same delta.
enum class TableFate : uint32_t {
  kStays = 0,
  // All its rows were removed: the follower must drop those of this shard. The
  // table may now have other settings.
  kCleared = 1,
  // The table was dropped. The delta has no rows of it, and no later delta
  // names it unless it is created again. For a while, followers that begin
  // later are told of it too.
  kDropped = 2,
};
inline constexpr TableFate kLastFate = TableFate::kDropped;

// A table, which may be new to the follower, and what changed in it.
struct TableChanges {
  TableConfig config;
  RowDelta rows;
  TableFate fate = TableFate::kStays;
};

struct ChangesRequest {
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  Deadline deadline;
  uint32_t shard = 0;
  // Input: where the follower is. Output: where it is once it has applied this.
  FollowPosition position;
  // 0: the follower ends. The reply may have slightly more rows, or fewer.
  uint64_t max_rows = 0;
  // Limit of the reply's size; servers lower it.
  uint64_t max_bytes = kMostBytes;

  // Outputs.
  Begins begins = Begins::kNothing;
  // Nothing is left: the follower has been told of all changes made before the
  // request.
  bool complete = false;
  std::vector<TableChanges> tables;  // Tables that changed or are new.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHANGES_REQUEST_H_
