/* The part of the C interface about the shards of a cluster, and the slots that
 * each owns. The rules in the first comment of persia.h apply. */

#ifndef PERSIA_CC_CAPI_PERSIA_CLUSTER_H_
#define PERSIA_CC_CAPI_PERSIA_CLUSTER_H_

#include <stdint.h>

#include "cc/base/export.h"
#include "cc/capi/persia.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PERSIA_SLOTS 16384

typedef struct persia_cluster persia_cluster;
typedef struct persia_topology persia_topology;

/* Members, topologies and moves are described in cc/topology and in
 * cc/service/move_request.h. */
typedef struct {
  uint64_t cluster;
  uint64_t epoch;
  int members;
} persia_topology_view;

typedef struct {
  uint64_t id;
  uint32_t number;
  int has_left;
  /* Texts are valid until persia_topology_free. */
  const char* address;
  const char* standby; /* Where its standby answers; "": it has none. */
  int answers;         /* Whether it answered persia_cluster_look. */
} persia_member;

typedef struct {
  int action;      /* A MoveAction. */
  uint64_t taker;  /* The id of the member that takes the slots over. */
  uint64_t source; /* For kStart: the id of their owner. */
  /* For kStart: PERSIA_SLOTS bytes, 1 for each slot that moves, else 0. */
  const uint8_t* slots;
  uint64_t most_bytes_per_second; /* For kStart; 0: no limit. */
  /* Outputs. A move that has failed is no failure of the call: `error` is then
   * the number of the error, and persia_last_error has the text. */
  int state; /* A MoveState. */
  int error;
  uint64_t from; /* The source of the move that was started last. */
  uint64_t slots_to_move, slots_moved, rows, bytes, most_held_us;
} persia_move;

/* Does not contact the shards yet. */
PERSIA_EXPORT int persia_cluster_open(const char* addresses,
                                      const char* auth_token,
                                      const persia_tls* tls,
                                      double timeout_seconds,
                                      persia_cluster** cluster);
PERSIA_EXPORT void persia_cluster_free(persia_cluster* cluster);

/* See ClusterAdmin. */
PERSIA_EXPORT int persia_cluster_fetch(persia_cluster* cluster,
                                       int all_must_answer,
                                       persia_topology** topology);
/* `away` ("host:port,...") lists other shards not to ask. Sets *topology to
 * NULL if the shards belong to no cluster. */
PERSIA_EXPORT int persia_cluster_look(persia_cluster* cluster, const char* away,
                                      persia_topology** topology);
PERSIA_EXPORT int persia_cluster_join(persia_cluster* cluster,
                                      const char* address, uint64_t* member);
PERSIA_EXPORT int persia_cluster_leave(persia_cluster* cluster,
                                       uint64_t member);
PERSIA_EXPORT int persia_cluster_move(persia_cluster* cluster,
                                      persia_move* move);
/* Sets the elements of `ids` and of `bytes`, PERSIA_SLOTS each, to what the
 * member tells of each slot: see cc/service/slot_loads_request.h. */
PERSIA_EXPORT int persia_cluster_slot_loads(persia_cluster* cluster,
                                            uint64_t member, uint64_t* ids,
                                            uint64_t* bytes);
/* The standby at `address` takes its primary's place. If primary_is_gone is 0,
 * the primary gives its place up, and the call fails if it does not answer.
 * Otherwise the caller vouches that no program can ever reach the primary's
 * process again. Returns once the standby serves. */
PERSIA_EXPORT int persia_cluster_promote(persia_cluster* cluster,
                                         const char* address,
                                         int primary_is_gone);

PERSIA_EXPORT void persia_topology_free(persia_topology* topology);
PERSIA_EXPORT void persia_topology_get(const persia_topology* topology,
                                       persia_topology_view* out);
PERSIA_EXPORT int persia_topology_member(const persia_topology* topology,
                                         int place, persia_member* out);
/* Sets owners[s] to the place of the member that owns slot s. `owners` has
 * PERSIA_SLOTS elements. */
PERSIA_EXPORT int persia_topology_owners(const persia_topology* topology,
                                         uint16_t* owners);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_CLUSTER_H_ */
