/* The C interface of libpersia.so, for Python's ctypes.
 *
 * Functions return 0 or a status code (the numbers of cc/base/status.h); the
 * message of the thread's last failure is persia_last_error(). Strings are
 * UTF-8 and end in NUL. Handles are thread-safe. Calls that may block say so;
 * ctypes releases the interpreter's lock during every call. */

#ifndef PERSIA_CC_CAPI_PERSIA_H_
#define PERSIA_CC_CAPI_PERSIA_H_

#include <stdint.h>

#include "cc/base/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct persia_events persia_events;
typedef struct persia_server persia_server;
typedef struct persia_stats persia_stats;
typedef struct persia_page persia_page;
typedef struct persia_changes persia_changes;
typedef struct persia_checkpoint_reply persia_checkpoint_reply;
typedef struct persia_file_names persia_file_names;

/* The message of the calling thread's last failed call; valid until its next
 * call of this interface. */
PERSIA_EXPORT const char* persia_last_error(void);

/* ---- Events: what servers report to their operator, for a log. ---- */

typedef struct {
  int level;           /* 1: info, 2: warning, 3: error, 4: debug; 0: none. */
  double unix_seconds; /* When it occurred. */
  const char* text;    /* One line. Valid until the next take or free. */
} persia_event;
/* A log for the options of servers; it must outlive them. */
PERSIA_EXPORT int persia_events_new(persia_events** events);
/* Takes the oldest event. Blocks until there is one, for at most `seconds` and
 * not after close; level is 0 if there was none. One thread at a time. */
PERSIA_EXPORT int persia_events_take(persia_events* events, double seconds,
                                     persia_event* event);
/* From now on take does not block. Events in the log can still be taken. */
PERSIA_EXPORT void persia_events_close(persia_events* events);
PERSIA_EXPORT void persia_events_free(persia_events* events);

/* ---- TLS: see cc/tls/tls_context.h. ---- */

/* PEM texts. All must be given, or all be NULL for no TLS. */
typedef struct {
  const char* certificate;
  const char* key;
  const char* ca;
} persia_tls;

/* ---- Server: a PS shard or an embedding worker. ---- */

/* 0 or NULL selects the default of a field that has one. */
typedef struct {
  const char* host; /* Name or address to listen on. */
  int port;         /* 0: any free one. */
  int io_threads;
  const char* auth_token; /* Shared with every client; NULL or "": none. */
  /* Not 0: without TLS or a token, accept connections from other machines
   * too. */
  int insecure;
  int max_connections;         /* 1024 by default. */
  uint64_t max_message_bytes;  /* Per request or reply; 2^30 by default. */
  uint64_t max_request_tables; /* 2^14 by default. */
  uint64_t max_request_ids; /* Over all tables of a request; 2^24 by default. */
  persia_events* events;    /* Where events are reported; NULL: nowhere. */
  persia_tls tls;
} persia_server_options;
/* Options of a shard only. */
typedef struct {
  /* Requests may only use files in this folder or below this URL; NULL or "":
   * no checkpoints. */
  const char* checkpoint_root;
  /* A folder on this machine, for this shard alone, with what it needs to
   * recover after a crash. NULL or "": it does not recover. */
  const char* recovery_folder;
  /* What it recovers from: "log" (every change, the default) or "checkpoint"
   * (the last one). */
  const char* recovery;
  /* What a logged change survives: "device" (a loss of power, the default) or
   * "system" (the end of the process). */
  const char* log_sync;
  /* By how much the recovery log grows before a new log base is written; 1 GiB
   * by default. */
  uint64_t log_bytes;
  /* If the log is damaged at exactly the record of this number, discards that
   * record and all later ones. 0: discards nothing; with a damaged log the
   * shard does not start. */
  uint64_t lose_log_from;
  /* The memory limit of all tables, as statistics count it; unlimited by
   * default. At the limit new rows are refused, or others evicted. */
  uint64_t memory_limit_bytes;
  uint64_t max_tables; /* Unlimited by default. */
  /* "host:port" of the shard that this one is a replica of; this shard's own
   * token and TLS are used for it: see cc/service/replica_service.h. NULL or
   * "": not a replica. A replica has no checkpoints and no recovery log. */
  const char* replica_of;
} persia_shard_options;
/* Starts a shard with a store of its own, which is empty unless the shard
 * recovers. Blocks until it has recovered. `shard` may be NULL. */
PERSIA_EXPORT int persia_server_start(const persia_server_options* options,
                                      const persia_shard_options* shard,
                                      persia_server** server);
/* Starts an embedding worker in front of the shards at `addresses`,
 * "host:port,host:port,...", with the worker's own token and TLS. Requests
 * to the shards fail after `timeout_seconds`, which should be less than the
 * trainers' own timeout, so that trainers learn which shard failed. Keeps
 * copies of `cache_rows` hot rows per table (0: none). Uses another
 * `io_threads` threads for the shards. Connects on first use: does not
 * block. */
PERSIA_EXPORT int persia_worker_start(const persia_server_options* options,
                                      const char* addresses,
                                      double timeout_seconds,
                                      uint64_t cache_rows,
                                      persia_server** server);
PERSIA_EXPORT int persia_server_port(const persia_server* server);
/* 0 for a replica that has never had all rows of its source; otherwise 1. */
PERSIA_EXPORT int persia_server_is_ready(const persia_server* server);
/* Lets requests in flight finish; blocks for at most `seconds`. */
PERSIA_EXPORT int persia_server_stop(persia_server* server, double seconds);
/* Stops the server at once, unless it was stopped, and frees the handle. */
PERSIA_EXPORT void persia_server_free(persia_server* server);

/* ---- Session: a trainer's client of a cluster. The ops find it by name.
 * ---- */

typedef struct {
  const char* addresses;  /* "host:port,host:port,..."; "": this process. */
  double timeout_seconds; /* Per request. */
  int staleness;          /* Limit for batches that are not prefetched. */
  const char* wire_dtype; /* float32, float16, bfloat16 or int8. */
  uint64_t hot_rows;      /* Copies in this process per table; 0: none. */
  const char* auth_token; /* Shared with the servers; NULL or "": none. */
  persia_tls tls;
  /* Where servers that do not answer are reported; NULL: nowhere. The log must
   * outlive the session and everything that uses it. */
  persia_events* events;
} persia_session_options;
/* Opens a session under `name`. Fails if there is one of that name. */
PERSIA_EXPORT int persia_session_open(const char* name,
                                      const persia_session_options* options);
/* Flushes, returning the flush's error, and ends the session. Blocks. */
PERSIA_EXPORT int persia_session_close(const char* name);

/* Texts are in the syntax of Spec (cc/base/spec.h). All but the first two may
 * be NULL: float32, unlimited, always, never. */
typedef struct {
  int dim;
  const char* initializer;
  const char* optimizer;
  const char* row_dtype;
  const char* capacity;
  const char* admission;
  const char* eviction;
  uint64_t seed;
  float default_value;
  /* Not 0: an existing table of another optimizer gets this one. */
  int replaces_optimizer;
  /* Output, of PERSIA_OPTIMIZER_BYTES bytes, or NULL: the table's optimizer,
   * which differs from `optimizer` if that is undecided. */
  char* held_optimizer;
} persia_table_settings;
#define PERSIA_OPTIMIZER_BYTES 1024
/* Creates a table on every shard, or attaches to an existing one; *rows is the
 * number of rows that it had. Blocks for at most the session's timeout. */
PERSIA_EXPORT int persia_session_create_table(
    const char* name, const char* table, const persia_table_settings* settings,
    uint64_t* rows);
/* Waits until every committed update is acknowledged. Returns the first error
 * since the last flush, and clears it. Blocks. */
PERSIA_EXPORT int persia_session_flush(const char* name);

typedef struct {
  uint64_t training_lookups; /* Calls. */
  uint64_t readonly_lookups; /* Calls. */
  uint64_t committed;        /* Commits with something to push. */
  uint64_t pushed;           /* Update requests acknowledged. */
  uint64_t discarded;        /* Staged gradients that no step committed. */
  uint64_t nonfinite;        /* Gradient rows skipped: NaN or infinite. */
  uint64_t absent;           /* Gradient rows skipped: no such row. */
  uint64_t requests;         /* Lookup requests; each for many layers. */
  uint64_t prefetched;       /* Lookups that used prefetched rows. */
  uint64_t stale;            /* Lookups whose prefetched rows were too old. */
  uint64_t dropped;          /* Prefetched batches that no step used. */
  uint64_t waits;            /* Lookups that had to wait for rows. */
  uint64_t wait_nanoseconds; /* The sum of those waits. */
  uint64_t unacknowledged;   /* Updates queued or in flight, now. */
  uint64_t registered;       /* Prefetched batches not used yet, now. */
  uint64_t staleness_last;   /* Of the newest training batch. */
  uint64_t staleness_max;    /* Of all training batches. */
  uint64_t hot_hits;         /* Rows taken from copies in this process. */
  uint64_t hot_misses;       /* Rows of tables with copies, from shards. */
  uint64_t bytes_out; /* Whole frames; 0 if the store is in this process. */
  uint64_t bytes_in;
  uint64_t sent_requests; /* Requests of any kind to shards, without retries. */
  uint64_t retries;       /* Requests sent again. */
  uint64_t reconnects;
} persia_session_counters;
PERSIA_EXPORT int persia_session_get_counters(
    const char* name, persia_session_counters* counters);
/* Sets batches[s], for s < bins, to the number of training batches with
 * staleness s; the last bin also counts all batches with more. */
PERSIA_EXPORT int persia_session_get_staleness(const char* name,
                                               uint64_t* batches, int bins);

/* ---- Rows of a table of a session, outside training. `table` is its full name
 * and `dim` its dimension. Each call blocks for at most the session's timeout.
 * Only lookup waits for committed updates; call flush before other calls that
 * must see them. ---- */

/* Fills rows (count x dim). Creates no rows: absent ids get the default value.
 * Ids may repeat. */
PERSIA_EXPORT int persia_session_lookup(const char* name, const char* table,
                                        int dim, const int64_t* ids,
                                        uint64_t count, float* rows);
/* Sets the rows of unique ids to `rows` (count x dim), creating absent ones,
 * and their state to `state` (count x state_size), in the form that an export
 * returns. With state_size 0 the state becomes that of a new row. */
PERSIA_EXPORT int persia_session_assign(const char* name, const char* table,
                                        int dim, int state_size,
                                        const int64_t* ids, uint64_t count,
                                        const float* rows, const float* state);
/* *removed is the number of rows that existed. */
PERSIA_EXPORT int persia_session_remove(const char* name, const char* table,
                                        const int64_t* ids, uint64_t count,
                                        uint64_t* removed);

/* Removes all rows of a table at once, and the table itself too if `stays` is
 * 0; otherwise the table keeps its settings. Does nothing if the table does not
 * exist. */
PERSIA_EXPORT int persia_session_drop_table(const char* name, const char* table,
                                            int stays);
/* From now on calls of the layer (as the ops name it) fail with kNotFound and
 * `why`. */
PERSIA_EXPORT int persia_session_retire_layer(const char* name,
                                              const char* layer,
                                              const char* why);

/* An export's position: zeros at first; at_end is not 0 after the last page. */
typedef struct {
  uint32_t shard;
  uint64_t position;
  int at_end;
} persia_export_cursor;

typedef struct {
  uint32_t age, count;
} persia_row_usage;

/* Valid until persia_page_free. */
typedef struct {
  const int64_t* ids;
  const float* rows;  /* count x dim. */
  const float* state; /* count x state_size. */
  uint64_t count;
  uint32_t dim, state_size;
  /* `count` entries unless use_time is 0: for each row, the time since the last
   * training lookup of it, and the number of such lookups. */
  const persia_row_usage* uses;
  uint32_t use_time; /* Unit of ages. 1: training lookups, 2: seconds. */
} persia_page_view;

/* Returns the next page of about `max_rows` rows (possibly none, even before
 * the end), and advances the cursor. A row that exists throughout is on exactly
 * one page. */
PERSIA_EXPORT int persia_session_export(const char* name, const char* table,
                                        uint64_t max_rows,
                                        persia_export_cursor* cursor,
                                        persia_page** page);
PERSIA_EXPORT void persia_page_get(const persia_page* page,
                                   persia_page_view* view);
PERSIA_EXPORT void persia_page_free(persia_page* page);

/* ---- Following: changes in the tables of a session's shards; see
 * cc/service/changes_request.h. ---- */

/* In: the follower's position. Out: its position after it has applied the
 * reply. At first, all zeros except `follower`, which is random and not 0. */
typedef struct {
  uint64_t follower, epoch, version;
  uint64_t base_save; /* Newest save that the follower is as new as. */
} persia_follow_position;

typedef struct {
  int begins;   /* 0: continues, 1: changes since a save, 2: all rows. */
  int complete; /* Not 0: has all changes before the request. */
  int tables;
} persia_changes_view;

typedef struct {
  const char* name; /* The full one. */
  uint32_t dim;
  const char* row_dtype; /* As a Spec. */
  uint32_t shard_index;  /* The rows' shard, as the table's creator counts. */
  uint32_t shard_count;
  const int64_t* ids;
  const float* rows; /* count x dim. */
  uint64_t count;
  const int64_t* erased;
  uint64_t erased_count;
  int fate; /* Before these rows: 0 stays, 1 cleared; 2 dropped. */
} persia_changed_table;

/* Requests what changed on one shard since `position`, at most about `max_rows`
 * rows. With max_rows 0 it requests nothing, and the shard forgets the
 * follower. Blocks for at most the session's timeout. Does not wait for
 * updates: see flush. On failure `position` is unchanged. */
PERSIA_EXPORT int persia_session_changes(const char* name, uint32_t shard,
                                         persia_follow_position* position,
                                         uint64_t max_rows,
                                         persia_changes** changes);
PERSIA_EXPORT void persia_changes_get(const persia_changes* changes,
                                      persia_changes_view* view);
/* `out` is valid until persia_changes_free. */
PERSIA_EXPORT int persia_changes_table(const persia_changes* changes, int table,
                                       persia_changed_table* out);
PERSIA_EXPORT void persia_changes_free(persia_changes* changes);

/* Sets shards[i] to the one of `shard_count` shards that has the row of
 * ids[i]. */
PERSIA_EXPORT int persia_shards_of_ids(const int64_t* ids, uint64_t count,
                                       uint32_t shard_count, uint32_t* shards);

/* ---- Checkpoints: see cc/service/checkpoint_request.h. ---- */

typedef struct {
  int action;
  uint64_t save_id;
  uint64_t parent_id;  /* For an increment; 0: a whole save. */
  uint64_t generation; /* For a swap. */
  const char* folder;
  const char* const* files;
  int file_count;
  const uint8_t* contents;
  uint64_t contents_size;
} persia_checkpoint_request;

typedef struct {
  int state; /* 0 idle, 1 running, 2 ended. */
  int code;  /* Of the outcome; 0: OK. */
  const char* message;
  const char* file;
  uint64_t rows, total_rows, bytes;
  /* The save that an increment can have as its parent; 0: none. */
  uint64_t base_id;
  /* The folder of the checkpoint that was swapped in, as long as the shard
   * needs it to recover: until its log has a base. Otherwise "". */
  const char* needed;
  int base_code; /* Why the last attempt at a base failed; 0: none failed. */
  const char* base_message;
} persia_checkpoint_progress;

/* Blocks for at most the session's timeout. Does not wait for updates: see
 * flush. */
PERSIA_EXPORT int persia_session_checkpoint(
    const char* name, const persia_checkpoint_request* request,
    persia_checkpoint_reply** reply);
/* The results of these calls are valid until persia_checkpoint_free. Indexes
 * must be within range. */
PERSIA_EXPORT int persia_checkpoint_shards(
    const persia_checkpoint_reply* reply);
PERSIA_EXPORT void persia_checkpoint_shard(const persia_checkpoint_reply* reply,
                                           int shard,
                                           persia_checkpoint_progress* out);
PERSIA_EXPORT int persia_checkpoint_names(const persia_checkpoint_reply* reply);
PERSIA_EXPORT const char* persia_checkpoint_name(
    const persia_checkpoint_reply* reply, int name);
PERSIA_EXPORT const uint8_t* persia_checkpoint_contents(
    const persia_checkpoint_reply* reply, uint64_t* size);
PERSIA_EXPORT void persia_checkpoint_free(persia_checkpoint_reply* reply);

typedef struct {
  uint64_t save_id, parent_id;
  uint32_t shard_index, shard_count;
  uint64_t tables, rows, erased;
} persia_shard_file;
/* Reads and checks a whole shard file, in this process. Blocks. */
PERSIA_EXPORT int persia_checkpoint_read_file(const char* path,
                                              persia_shard_file* out);
/* Writes to `out` the merged contents of a chain of one shard's files: see
 * cc/checkpoint/compactor.h. Blocks. */
PERSIA_EXPORT int persia_checkpoint_compact_files(const char* const* paths,
                                                  int count, uint64_t save_id,
                                                  const char* out);

/* ---- Files at URLs, for checkpoints: see cc/files/file_system.h. ---- */

/* Size of a message buffer, including the NUL. */
#define PERSIA_FILE_MESSAGE_BYTES 1024

/* Callbacks for files at URLs. Each returns 0, or a status code after it has
 * written a message to `message` (only release cannot fail). They are called on
 * any thread and concurrently, but those of one file one after the other, and
 * must return within a time limit of their own. A missing file or folder is an
 * error only for open and size. */
typedef struct {
  /* Creates a file, which stays invisible until it is finished. */
  int (*create)(const char* url, uint64_t* file, char* message);
  int (*append)(uint64_t file, const uint8_t* bytes, uint64_t size,
                char* message);
  int (*finish)(uint64_t file, char* message);
  int (*open)(const char* url, uint64_t* file, char* message);
  /* Sets *got to 0 only at the end of the file. */
  int (*read)(uint64_t file, uint8_t* bytes, uint64_t size, uint64_t* got,
              char* message);
  /* Called once for each file. Discards a created file that was not
   * finished. */
  void (*release)(uint64_t file);
  int (*size)(const char* url, uint64_t* bytes, char* message);
  /* Writes a whole file atomically. */
  int (*write_whole)(const char* url, const uint8_t* bytes, uint64_t size,
                     char* message);
  int (*remove)(const char* url, char* message);
  int (*list)(const char* url, persia_file_names* names, char* message);
  int (*make_folder)(const char* url, char* message);
  int (*remove_folder)(const char* url, char* message);
} persia_files;
/* From now on these callbacks handle all URLs, for every shard, session and
 * call in this process. They must stay callable as long as the process
 * lives. */
PERSIA_EXPORT void persia_set_files(const persia_files* files);
/* For `list` to add a name; in any order. */
PERSIA_EXPORT void persia_file_names_add(persia_file_names* names,
                                         const char* name);

/* ---- Stats: counters of every shard of a session or of a list. ---- */

typedef struct {
  const char* address;
  uint64_t generation, lookups, updates, repeated_updates, bad_frames,
      refused_connections, connections;
  const char* source; /* For a replica, the shard that it follows; else "". */
  /* Time since it last had all changes of that shard; 2^64 - 1: never. */
  uint64_t behind_millis;
  int tables;
} persia_process_stats;

typedef struct {
  const char* name;
  uint32_t dim;
  uint64_t rows, bytes, index_slots, rows_looked_up, rows_found, rows_updated,
      nonfinite_gradients, absent_gradients, evictions, refused;
} persia_table_stats;

/* Requests stats from every address; blocks for at most `timeout_seconds`.
 * `auth_token` is shared with the servers; NULL or "": none. `tls` may be
 * NULL. */
PERSIA_EXPORT int persia_stats_fetch(const char* addresses,
                                     const char* auth_token,
                                     const persia_tls* tls,
                                     double timeout_seconds,
                                     persia_stats** stats);
/* Stats of a server in this process. */
PERSIA_EXPORT int persia_stats_of_server(const persia_server* server,
                                         persia_stats** stats);
/* Stats of a session's shards, or of the store in this process. */
PERSIA_EXPORT int persia_stats_of_session(const char* name,
                                          persia_stats** stats);
PERSIA_EXPORT int persia_stats_processes(const persia_stats* stats);
/* The views below are valid until persia_stats_free. */
PERSIA_EXPORT int persia_stats_process(const persia_stats* stats, int process,
                                       persia_process_stats* out);
PERSIA_EXPORT int persia_stats_table(const persia_stats* stats, int process,
                                     int table, persia_table_stats* out);
PERSIA_EXPORT void persia_stats_free(persia_stats* stats);

/* ---- The clients by which exported models in this process look up rows.
 * ---- */

typedef struct persia_remote persia_remote;

/* Bin b counts lookups that took at least 2^(b-1) and less than 2^b
 * microseconds; bin 0 those below 1, and the last bin all longer ones too. */
#define PERSIA_LATENCY_BINS 32

typedef struct {
  uint64_t number;     /* Unique in this process. */
  const char* cluster; /* This and the next: valid until persia_remote_free. */
  const char* addresses; /* The shards or workers: "host:port,...". */
  uint64_t lookups, ids, unique_ids, requests;
  uint64_t failures; /* Requests that failed at a shard. */
  uint64_t zeros;    /* Rows that became zeros for that reason. */
  uint64_t hot_hits, hot_misses, hot_rows, hot_bytes; /* Copies of rows. */
  uint64_t latencies[PERSIA_LATENCY_BINS];
} persia_remote_counters;

/* The client with the next number above `after` (0 at first), or NULL if there
 * is none. A model's ops open the client when they are created. */
PERSIA_EXPORT int persia_remote_next(uint64_t after, persia_remote** remote);
/* Frees the handle; the client stays open. */
PERSIA_EXPORT void persia_remote_free(persia_remote* remote);
PERSIA_EXPORT void persia_remote_get_counters(const persia_remote* remote,
                                              persia_remote_counters* out);
/* A follower of the rows' changes sets this first, and then reports every
 * change: meanwhile copies do not expire. Reports for tables without copies are
 * ignored. */
PERSIA_EXPORT void persia_remote_set_followed(persia_remote* remote,
                                              int followed);
PERSIA_EXPORT int persia_remote_refresh(persia_remote* remote,
                                        const char* table, int dim,
                                        const int64_t* ids, uint64_t count,
                                        const float* rows);
PERSIA_EXPORT int persia_remote_erase(persia_remote* remote, const char* table,
                                      const int64_t* ids, uint64_t count);
/* Closes the client. Models that were loaded before keep using it; models that
 * are loaded later open a new one, with the environment of that time. */
PERSIA_EXPORT int persia_remote_close(uint64_t number);

/* ---- Bodies of prediction requests: see cc/json/request_body.h. ---- */

typedef struct persia_body persia_body;

typedef struct {
  const char* signature; /* "": none given. Valid until persia_body_free. */
  int in_rows;           /* Not 0: "instances"; 0: "inputs". */
  int is_named;          /* 0: there is at most one column, without a name. */
  int columns;
} persia_body_view;

typedef struct {
  const char* name; /* Valid until persia_body_free, as is `shape`. */
  /* A bit mask. 1: bool, 2: 64-bit integer, 4: other number, 8: text, 16:
   * bytes, 32: null, 64: other object. */
  uint32_t kinds;
  int is_ragged; /* Not 0: values have no common shape. */
  int rank;
  const uint64_t* shape;
  uint64_t values;
  uint64_t text_bytes; /* Total of all texts, and of all bytes in base64. */
  int64_t least;       /* The least of the integers and 0. */
  uint64_t most;
} persia_body_column;

/* Where the values of a column are written, row by row. */
typedef struct {
  /* 0: nothing, 1: bools, one byte each, 2: integers, 8 bytes each, 3: all
   * numbers as doubles, 4: texts, written to `texts`; `values` gets where each
   * one ends, 8 bytes each. */
  int form;
  void* values;
  uint64_t value_count; /* Must be the column's `values`. */
  char* texts;
  uint64_t text_bytes; /* Must be the column's `text_bytes`. */
  uint8_t* are_base64; /* One byte per value, for form 4. */
} persia_body_output;

/* Parses a JSON text, which must stay unchanged until the body is freed. Takes
 * time proportional to the text's length. */
PERSIA_EXPORT int persia_body_scan(const void* text, uint64_t size,
                                   persia_body** body);
PERSIA_EXPORT void persia_body_get(const persia_body* body,
                                   persia_body_view* view);
PERSIA_EXPORT int persia_body_get_column(const persia_body* body, int column,
                                         persia_body_column* view);
/* Parses the text again and writes the values of all columns; `outputs` has one
 * entry per column. Takes as long as the scan. */
PERSIA_EXPORT int persia_body_read(const persia_body* body,
                                   const persia_body_output* outputs,
                                   int count);
PERSIA_EXPORT void persia_body_free(persia_body* body);

/* Checks what a serialized tensorflow.serving.PredictRequest takes once it is
 * decoded: see cc/json/predict_request.h. Takes time proportional to its size.
 */
PERSIA_EXPORT int persia_predict_request_check(const void* message,
                                               uint64_t size,
                                               uint64_t most_value_bytes);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_H_ */
