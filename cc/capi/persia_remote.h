/* The part of the C interface about remote clients: exported models in this
 * process use them to look up rows on shards or workers. The rules in the first
 * comment of persia.h apply. */

#ifndef PERSIA_CC_CAPI_PERSIA_REMOTE_H_
#define PERSIA_CC_CAPI_PERSIA_REMOTE_H_

#include <stdint.h>

#include "cc/base/export.h"
#include "cc/capi/persia.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct persia_remote persia_remote;

/* The number of bins in a histogram of lookup times. Bin b counts lookups that
 * took at least 2^(b-1) and less than 2^b microseconds. Bin 0 counts lookups of
 * less than 1 microsecond, and the last bin also counts all longer ones. */
#define PERSIA_LATENCY_BINS 32

typedef struct {
  uint64_t number; /* The client's number, unique in this process. */
  /* `cluster` and `addresses` are valid until persia_remote_free. */
  const char* cluster;
  const char* addresses;    /* The shards or workers: "host:port,...". */
  persia_counters counters; /* The counters in PERSIA_REMOTE_COUNTERS. */
  uint64_t latencies[PERSIA_LATENCY_BINS];
} persia_remote_counters;

/* Sets *remote to the client with the lowest number above `after`, which is 0
 * at first, or to NULL if there is none. A model's ops open the client when
 * they are created. */
PERSIA_EXPORT int persia_remote_next(uint64_t after, persia_remote** remote);
/* Frees the handle; the client stays open. */
PERSIA_EXPORT void persia_remote_free(persia_remote* remote);
PERSIA_EXPORT void persia_remote_get_counters(const persia_remote* remote,
                                              persia_remote_counters* out);
/* Informs the client whether a follower reports every change of the rows from
 * now on. While one does, the client's copies of rows do not expire. Reports
 * for tables without copies are ignored. */
PERSIA_EXPORT void persia_remote_set_followed(persia_remote* remote,
                                              int followed);
PERSIA_EXPORT int persia_remote_refresh(persia_remote* remote,
                                        const char* table, int dim,
                                        const int64_t* ids, uint64_t count,
                                        const float* rows);
PERSIA_EXPORT int persia_remote_erase(persia_remote* remote, const char* table,
                                      const int64_t* ids, uint64_t count);
/* Closes the client. Models that are already loaded continue to use it. Models
 * that are loaded later open a new client, configured by the environment
 * variables at that time. */
PERSIA_EXPORT int persia_remote_close(uint64_t number);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_REMOTE_H_ */
