/* The part of the C interface that reads the counters of processes. The rules
 * in the first comment of persia.h apply. */

#ifndef PERSIA_CC_CAPI_PERSIA_STATS_H_
#define PERSIA_CC_CAPI_PERSIA_STATS_H_

#include <stdint.h>

#include "cc/base/export.h"
#include "cc/capi/persia.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char* address;
  const char* role; /* "shard", "replica" or "worker". */
  /* The shard that a replica follows; "" if the process is no replica. */
  const char* source;
  /* For a replica, the time since it last had all changes of its shard, or
   * 2^64 - 1 if it never had them all. */
  uint64_t behind_millis;
  int tables, requests, trainers;
  persia_counters counters; /* The counters in PERSIA_PROCESS_COUNTERS. */
} persia_process_stats;

typedef struct {
  const char* name;
  uint32_t dim;
  persia_counters counters; /* The counters in PERSIA_TABLE_COUNTERS. */
} persia_table_stats;

/* The requests of one type that the server of a process answered. */
typedef struct {
  const char* name; /* The type's name, such as "lookup". */
  uint64_t failed;
  uint64_t nanoseconds; /* The sum of all latencies. */
  /* buckets[b] is the number of latencies above the bound of bucket b - 1 and
   * up to the bound of bucket b: see persia_stats_bucket_bound. */
  const uint64_t* buckets;
  int bucket_count;
} persia_request_stats;

/* A program that trains on the rows of a process. */
typedef struct {
  const char* program;
  persia_counters counters; /* The counters in PERSIA_TRAINER_COUNTERS. */
} persia_trainer_stats;

/* Requests stats from every address. Blocks for at most `timeout_seconds`.
 * `auth_token` is the secret shared with the servers; NULL or "" means none.
 * `tls` may be NULL. */
PERSIA_EXPORT int persia_stats_fetch(const char* addresses,
                                     const char* auth_token,
                                     const persia_tls* tls,
                                     double timeout_seconds,
                                     persia_stats** stats);
/* Returns the stats of a server in this process; those of an embedding worker
 * lack the entries of its shards. */
PERSIA_EXPORT int persia_stats_of_server(const persia_server* server,
                                         persia_stats** stats);
/* Returns the stats of a session's shards, or of the store in this process. */
PERSIA_EXPORT int persia_stats_of_session(const char* name,
                                          persia_stats** stats);
PERSIA_EXPORT int persia_stats_processes(const persia_stats* stats);
/* The results of the next four functions are valid until persia_stats_free. */
PERSIA_EXPORT int persia_stats_process(const persia_stats* stats, int process,
                                       persia_process_stats* out);
PERSIA_EXPORT int persia_stats_table(const persia_stats* stats, int process,
                                     int table, persia_table_stats* out);
PERSIA_EXPORT int persia_stats_request(const persia_stats* stats, int process,
                                       int request, persia_request_stats* out);
PERSIA_EXPORT int persia_stats_trainer(const persia_stats* stats, int process,
                                       int trainer, persia_trainer_stats* out);
/* Returns a bucket's bound in seconds; infinity for the last bucket. */
PERSIA_EXPORT double persia_stats_bucket_bound(int bucket);
PERSIA_EXPORT void persia_stats_free(persia_stats* stats);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_STATS_H_ */
