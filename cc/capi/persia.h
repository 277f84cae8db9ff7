/* The C interface of libpersia.so: what Python's ctypes calls.
 *
 * Functions return 0 or a status code (the numbers of cc/base/status.h); the
 * message of this thread's last failure is persia_last_error(). Strings are
 * UTF-8 and end in NUL. Handles are thread-safe. A call that may block says so;
 * ctypes lets go of the interpreter's lock for all of them. */

#ifndef PERSIA_CC_CAPI_PERSIA_H_
#define PERSIA_CC_CAPI_PERSIA_H_

#include <stdint.h>

#include "cc/base/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct persia_server persia_server;
typedef struct persia_stats persia_stats;

/* The message of the calling thread's last failed call; valid until its next
 * call of this interface. */
PERSIA_EXPORT const char* persia_last_error(void);

/* ---- Server: a PS shard with an empty store of its own. ---- */

PERSIA_EXPORT int persia_server_start(const char* host, int port,
                                      int io_threads, persia_server** server);
PERSIA_EXPORT int persia_server_port(const persia_server* server);
/* Finishes requests in flight; blocks for at most `seconds`. */
PERSIA_EXPORT int persia_server_stop(persia_server* server, double seconds);
/* Stops at once if that was not done, and frees the handle. */
PERSIA_EXPORT void persia_server_free(persia_server* server);

/* ---- Session: a trainer's end of a cluster, found by name by the ops. ---- */

/* Opens a session. `addresses` is "host:port,host:port,..." or "" for the store
 * in this process. `name` is the session's key; an existing one is an error.
 * `timeout_seconds` bounds every request; a table has at most
 * `max_pending_pushes` commits that are not acknowledged (0: synchronous). */
PERSIA_EXPORT int persia_session_open(const char* name, const char* addresses,
                                      double timeout_seconds,
                                      int max_pending_pushes);
/* Flushes (its error is returned), then ends the session. Blocks. */
PERSIA_EXPORT int persia_session_close(const char* name);
/* Makes or attaches to a table on every shard; *rows is what it held. Blocks
 * for at most the session's timeout. */
PERSIA_EXPORT int persia_session_create_table(
    const char* name, const char* table, int dim, const char* initializer,
    const char* optimizer, uint64_t seed, float default_value, uint64_t* rows);
/* Waits until every committed update is acknowledged. Returns, and forgets,
 * the first error since the last flush. Blocks. */
PERSIA_EXPORT int persia_session_flush(const char* name);

typedef struct {
  uint64_t training_lookups; /* Calls. */
  uint64_t readonly_lookups; /* Calls. */
  uint64_t committed;        /* Commits that had something to push. */
  uint64_t pushed;           /* Update requests acknowledged. */
  uint64_t discarded;        /* Staged gradients that no step committed. */
  uint64_t nonfinite;        /* Gradient rows skipped: NaN or infinite. */
  uint64_t absent;           /* Gradient rows skipped: no such row. */
} persia_session_counters;
PERSIA_EXPORT int persia_session_get_counters(
    const char* name, persia_session_counters* counters);

/* ---- Stats: counters of every shard of a session or of a list. ---- */

typedef struct {
  const char* address;
  uint64_t generation, lookups, updates, repeated_updates, bad_frames,
      connections;
  int tables;
} persia_process_stats;

typedef struct {
  const char* name;
  uint32_t dim;
  uint64_t rows, bytes, rows_looked_up, rows_updated, nonfinite_gradients,
      absent_gradients;
} persia_table_stats;

/* Asks every address; blocks for at most `timeout_seconds`. */
PERSIA_EXPORT int persia_stats_fetch(const char* addresses,
                                     double timeout_seconds,
                                     persia_stats** stats);
/* Of a server in this process. */
PERSIA_EXPORT int persia_stats_of_server(const persia_server* server,
                                         persia_stats** stats);
/* Of a session's shards, or of the store in this process. */
PERSIA_EXPORT int persia_stats_of_session(const char* name,
                                          persia_stats** stats);
PERSIA_EXPORT int persia_stats_processes(const persia_stats* stats);
/* The views below stay valid until persia_stats_free. */
PERSIA_EXPORT int persia_stats_process(const persia_stats* stats, int process,
                                       persia_process_stats* out);
PERSIA_EXPORT int persia_stats_table(const persia_stats* stats, int process,
                                     int table, persia_table_stats* out);
PERSIA_EXPORT void persia_stats_free(persia_stats* stats);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_H_ */
