// ChangesRequest: how a follower requests the changes of a shard's tables.
//
// A follower begins with all rows of all tables, with what changed since a
// checkpoint whose rows it has, or with nothing. Each request then returns a
// delta: what changed since the previous delta. A request for the next delta
// acknowledges that the follower has applied the previous one. If a reply was
// lost, the follower requests the same delta again, and receives the same ids
// with their present rows. The follower begins again if the shard was restarted
// or restored, has forgotten the follower, or had no memory to record every
// change; `begins` of the reply is then not kNothing. A request with max_rows 0
// ends the follower: the shard frees its records for the follower, and returns
// nothing.
//
// Slots move between shards meanwhile (cc/topology). A shard tells a follower
// only rows of slots that it owns, unless the follower takes over whole rows.
// It tells all rows of a slot anew when it gets the slot, since nobody tells
// the follower which of these rows changed or were removed just before. So a
// follower of several shards must do this:
// - It ignores what a reply says of a slot whose epoch is lower than the one in
//   another shard's reply that it has applied: the reply was made before the
//   slot moved.
// - It collects the slots in `fresh` of all replies since the last one that was
//   `complete`. Once a reply is complete, it drops the rows of these slots that
//   none of these replies contained. What was told of a slot before the slot's
//   epoch changed does not count.

#ifndef PERSIA_CC_SERVICE_CHANGES_REQUEST_H_
#define PERSIA_CC_SERVICE_CHANGES_REQUEST_H_

#include <cstdint>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/owned_slots.h"
#include "cc/base/slot_set.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

// Which of a shard's changes a follower has applied.
struct FollowPosition {
  // Random, not 0: identifies the follower.
  uint64_t follower = 0;
  // The epoch and version of the last delta that the follower applied; zeros if
  // it has applied none. An epoch, which has a random number, starts whenever
  // the follower begins; the deltas of an epoch have the versions 1, 2, 3, ...
  uint64_t epoch = 0;
  uint64_t version = 0;
  // A value of base_save: the follower needs no rows from before this request.
  static constexpr uint64_t kNow = ~uint64_t{0};
  // The newest checkpoint of this shard whose rows, or newer rows, the follower
  // is known to have; 0 if there is none; or kNow.
  uint64_t base_save = 0;
};

// The rows with which a delta begins.
enum class Begins : uint32_t {
  kNothing = 0,  // The delta continues from the previous delta.
  // The rows that changed since the checkpoint FollowPosition::base_save. If
  // base_save is kNow, no rows: only later changes are reported.
  kSinceSave = 1,
  // All rows, in this delta and the next ones. All slots of the shard are
  // `fresh`.
  kWhole = 2,
};
inline constexpr Begins kLastBegins = Begins::kWhole;

// What happened to a table before the row changes in the same delta.
enum class TableFate : uint32_t {
  kStays = 0,
  // All rows of the table were removed: the follower must drop its rows of this
  // shard. The table may now have other settings.
  kCleared = 1,
  // The table was dropped. The delta has no rows of it, and no later delta
  // names it unless it is created again. For a while, followers that begin
  // later also receive kDropped.
  kDropped = 2,
};
inline constexpr TableFate kLastFate = TableFate::kDropped;

// A table, which may be new to the follower, and what changed in it.
struct TableChanges {
  TableConfig config;
  RowDelta rows;
  TableFate fate = TableFate::kStays;
  // The members below are set only if the follower asks for whole rows.
  uint32_t row_bytes = 0;  // Of each row.
  uint32_t time = 0;       // See Table::time.
  TableIdentity identity{};
};

struct ChangesRequest {
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  Deadline deadline;
  uint32_t shard = 0;
  // The id of the shard (see cc/topology/member.h), or 0. If a client of
  // several shards knows a shard of this id, it asks that one, whatever `shard`
  // is. Another shard that is asked returns kNotFound.
  uint64_t member = 0;
  // Input: the follower's position. Output: its position once it has applied
  // this reply.
  FollowPosition position;
  // About how many rows the reply may have: it may have slightly more, or
  // fewer. 0 ends the follower.
  uint64_t max_rows = 0;
  // Limit of the reply's size; a server lowers it to its own limit.
  uint64_t max_bytes = kMostBytes;
  // Whether the follower takes over the rows, and so needs whole rows rather
  // than weights: see RawRows.
  bool whole_rows = false;
  // The slots whose rows the follower needs; none for all.
  SlotSet slots;

  // The members below are outputs.
  Begins begins = Begins::kNothing;
  // Whether the follower has now received all changes that were made before the
  // request.
  bool complete = false;
  // Whether the follower has now received all rows with which it begins, and
  // all of `fresh` slots: only later changes are left.
  bool only_changes = false;
  // How many requests for rows the shard has had so far. A follower that has
  // much to copy lets these go first.
  uint64_t requests = 0;
  std::vector<TableChanges> tables;  // Tables that changed or are new.
  OwnedSlots held;  // The slots that the shard owns, as of this reply.
  // The slots of which the shard had not told all rows before this reply.
  SlotSet fresh;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHANGES_REQUEST_H_
