// What an operator is told of tables.

#ifndef PERSIA_CC_SERVICE_TABLE_EVENTS_H_
#define PERSIA_CC_SERVICE_TABLE_EVENTS_H_

#include "cc/base/event_log.h"
#include "cc/store/table_config.h"

namespace persia {

inline constexpr EventKind kTablesMade{"tables made", EventLevel::kInfo, 60};
inline constexpr EventKind kPartsMade{"parts of tables made",
                                      EventLevel::kDebug, 60};

// The first shard tells of the table, the others of their parts where details
// are wanted: so a table is one line in the log of all.
inline void TellTableMade(EventLog* events, const TableConfig& config) {
  const EventKind& kind = config.shard_index == 0 ? kTablesMade : kPartsMade;
  TellEvent(events, kind, "made table \"", config.name,
            "\": ", config.DescribeChosen());
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_TABLE_EVENTS_H_
