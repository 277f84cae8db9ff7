// StandbyRequest: how a standby keeps a copy of a shard, its primary, and takes
// the primary's place.
//
// The standby copies the primary's recovery log and replays it:
//
//   kBegin    The primary tells where its newest base is, and retains the log
//             from there on for this standby.
//   kBase     The next bytes of that base.
//   kRecords  The records from a position on, as they are in the log. The
//             request says that the standby has durably all records before it.
//   kRetire   The primary records durably that the standby is the shard from
//             now on, and serves nothing any more. The standby applies no
//             record after that one.
//   kPromote  Not for the primary but for the standby: it takes the primary's
//             place, after kRetire, or without if the primary is gone.
//
// A primary has one standby. It forgets a standby that is silent for ten
// minutes.

#ifndef PERSIA_CC_SERVICE_STANDBY_REQUEST_H_
#define PERSIA_CC_SERVICE_STANDBY_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/clock.h"

namespace persia {

enum class StandbyAction : uint32_t {
  kBegin = 1,
  kBase = 2,
  kRecords = 3,
  kRetire = 4,
  kPromote = 5,
};
inline constexpr StandbyAction kLastStandbyAction = StandbyAction::kPromote;

struct StandbyRequest {
  static constexpr uint32_t kMostWaitMs = 10'000;
  // Approximate upper bound of a reply with bytes of a base or of the log. A
  // record that is longer is sent alone.
  static constexpr uint64_t kMostBytes = uint64_t{8} << 20;

  Deadline deadline;
  StandbyAction action = StandbyAction::kRecords;
  // For all actions but kPromote: a random number, not 0, by which the primary
  // knows the standby. kNotFound, except for kBegin, if the primary does not
  // know it, or no longer has what is asked for: the standby begins again.
  uint64_t standby = 0;
  // For kBase: the offset in the base. For kRecords: the position of the first
  // record. Output of kBegin: the position of the base.
  uint64_t position = 0;
  // For kRecords, if the standby has no session with the primary: the checksum
  // of the body of the record before `position`, if `checks` is set. kNotFound
  // if the primary's log has another record there.
  bool checks = false;
  uint32_t last_crc = 0;
  // For kRecords: how long the primary waits for a record, in milliseconds.
  uint32_t wait_ms = 0;
  // Where clients reach the standby. A standby that was started again takes the
  // place of the one that had this address.
  std::string address;
  // For kRecords: whether the standby has had all rows.
  bool is_complete = false;
  // For kPromote: the caller vouches that no program can ever again reach the
  // primary's process.
  bool primary_is_gone = false;

  // Output of kBegin: which shard the primary is. A standby that has another
  // one's rows, or more of this one's log, keeps them.
  uint64_t member = 0;
  uint64_t base_bytes = 0;     // Output of kBegin: 0 if there is no base.
  std::vector<uint8_t> bytes;  // Output of kBase and kRecords.
  // Output of kBegin and kRecords: the position that the primary's next record
  // will have.
  uint64_t end = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_STANDBY_REQUEST_H_
