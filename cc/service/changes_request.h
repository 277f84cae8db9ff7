// ChangesRequest: how one who follows a shard asks for what changed there.
//
// A follower begins with all rows of all tables, or with what changed since a
// checkpoint whose rows it has, or with nothing; and goes on with what changes:
// a delta each time it asks. To ask for a delta says that the one before was
// applied; to ask for the same one again, since the reply was lost, gives the
// same ids again, as they are then. A follower that the shard does not know, as
// it was restarted or restored, or forgot the follower, or had no memory to
// note all, begins anew: the reply says so. One that asks for no rows ends: the
// shard frees what it noted for it, and tells nothing.

#ifndef PERSIA_CC_SERVICE_CHANGES_REQUEST_H_
#define PERSIA_CC_SERVICE_CHANGES_REQUEST_H_

#include <cstdint>
#include <vector>

#include "cc/base/clock.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

// Where a follower is.
struct FollowPosition {
  // Random, not 0: tells one follower from another.
  uint64_t follower = 0;
  // Of the last delta that it applied; zeros: of none. Each beginning is an
  // epoch, with a random number; its deltas have the versions 1, 2, 3, ...
  uint64_t epoch = 0;
  uint64_t version = 0;
  // The newest checkpoint that it is known to be as new as, of this shard; 0:
  // none. kNow: it needs no row as it was before this request.
  static constexpr uint64_t kNow = ~uint64_t{0};
  uint64_t base_save = 0;
};

// What a delta begins.
enum class Begins : uint32_t {
  kNothing = 0,    // It goes on from the one before.
  kSinceSave = 1,  // What changed since the position's base_save, or now.
  // All rows. Once a delta is complete, the follower must drop the rows of this
  // shard that it was not given since.
  kWhole = 2,
};
inline constexpr Begins kLastBegins = Begins::kWhole;

// What became of a table, before what is told here of its rows.
enum class TableFate : uint32_t {
  kStays = 0,
  // All its rows went: the follower must drop those of this shard. The table
  // may have other settings than before.
  kCleared = 1,
  // It went itself. There are no rows, and it is not told of again unless it is
  // made anew. Told of to those who begin, too, for a while.
  kDropped = 2,
};
inline constexpr TableFate kLastFate = TableFate::kDropped;

// A table that the follower may never have heard of, and what changed in it.
struct TableChanges {
  TableConfig config;
  RowDelta rows;
  TableFate fate = TableFate::kStays;
};

struct ChangesRequest {
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  Deadline deadline;
  uint32_t shard = 0;
  // In: where the follower is. Output: where it is once it has applied this.
  FollowPosition position;
  // 0: the follower ends. There may be more by a little, or less.
  uint64_t max_rows = 0;
  uint64_t max_bytes = kMostBytes;  // Of the reply. Servers lower it.

  // Outputs.
  Begins begins = Begins::kNothing;
  // Nothing was left: all is told that changed before the request.
  bool complete = false;
  std::vector<TableChanges> tables;  // Those with something to tell, or new.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHANGES_REQUEST_H_
