// Log events about tables.

#ifndef PERSIA_CC_SHARD_TABLE_EVENTS_H_
#define PERSIA_CC_SHARD_TABLE_EVENTS_H_

#include "cc/base/event_log.h"
#include "cc/store/table_config.h"

namespace persia {

inline constexpr EventKind kTablesMade{"tables made", EventLevel::kInfo, 60};
inline constexpr EventKind kPartsMade{"parts of tables made",
                                      EventLevel::kDebug, 60};

// One shard of a cluster, the first, logs a new table at the info level, and
// the other shards log their parts of the table at the debug level. So the logs
// of all shards together have one info line per table.
inline void TellTableMade(EventLog* events, const TableConfig& config,
                          bool is_first) {
  const EventKind& kind = is_first ? kTablesMade : kPartsMade;
  TellEvent(events, kind, "made table \"", config.name,
            "\": ", config.DescribeChosen());
}

}  // namespace persia

#endif  // PERSIA_CC_SHARD_TABLE_EVENTS_H_
