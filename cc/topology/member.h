// Member: a shard, as the other processes of its cluster know it.

#ifndef PERSIA_CC_TOPOLOGY_MEMBER_H_
#define PERSIA_CC_TOPOLOGY_MEMBER_H_

#include <cstdint>
#include <string>

namespace persia {

struct Member {
  // A random number, not 0, that the shard drew when it began with nothing. It
  // keeps the number as long as it keeps its rows.
  uint64_t id = 0;
  // The shard's number for people, and its place in lists of the shards.
  uint32_t number = 0;
  // Of two descriptions of a shard, the one with the higher version is valid.
  uint32_t version = 0;
  // Whether the shard has left the cluster, and owns nothing any more.
  bool has_left = false;
  std::string address;  // "host:port".
  // Rises by 1 whenever a standby takes the shard's place. A process whose
  // incarnation is a lower one owns nothing any more.
  uint32_t incarnation = 0;
  // Where the shard's standby answers, which takes its place if it is lost; ""
  // if it has none.
  std::string standby = {};
};

inline bool operator==(const Member& a, const Member& b) {
  return a.id == b.id && a.number == b.number && a.version == b.version &&
         a.has_left == b.has_left && a.address == b.address &&
         a.incarnation == b.incarnation && a.standby == b.standby;
}

}  // namespace persia

#endif  // PERSIA_CC_TOPOLOGY_MEMBER_H_
