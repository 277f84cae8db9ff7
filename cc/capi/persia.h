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

/* ---- Events: what servers have to tell their operator, for a log. ---- */

typedef struct {
  int level;           /* 1: info, 2: warning, 3: error, 4: debug; 0: none. */
  double unix_seconds; /* When it was told. */
  const char* text; /* One line. Valid until the next is taken, or the end. */
} persia_event;
/* A log, to be named in the options of servers, which it must outlive. */
PERSIA_EXPORT int persia_events_new(persia_events** events);
/* Takes the oldest event. Blocks until there is one, for at most `seconds`, and
 * not after close. One thread at a time. */
PERSIA_EXPORT int persia_events_take(persia_events* events, double seconds,
                                     persia_event* event);
/* Has take return at once from now on. What is there can still be taken. */
PERSIA_EXPORT void persia_events_close(persia_events* events);
PERSIA_EXPORT void persia_events_free(persia_events* events);

/* ---- TLS: see cc/tls/tls_context.h. ---- */

/* Texts in PEM, all of them; or NULL, all of them, for no TLS. */
typedef struct {
  const char* certificate;
  const char* key;
  const char* ca;
} persia_tls;

/* ---- Server: a PS shard or an embedding worker. ---- */

/* A number of 0 is the default, and so is a NULL, where there is one. */
typedef struct {
  const char* host; /* Name or address to listen on. */
  int port;         /* 0: any free one. */
  int io_threads;
  const char* auth_token; /* Shared with every client; NULL or "": none. */
  /* Not 0: without TLS or a token, listen for other machines too. */
  int insecure;
  int max_connections;         /* 1024 by default. */
  uint64_t max_message_bytes;  /* Of requests and replies; 2^30 by default. */
  uint64_t max_request_tables; /* 2^14 by default. */
  uint64_t max_request_ids;    /* Over all its tables; 2^24 by default. */
  persia_events* events;       /* Is told what happens; NULL: nobody is. */
  persia_tls tls;
} persia_server_options;
/* Of a shard alone. */
typedef struct {
  /* No request reaches a file outside this folder, or URL; NULL or "": there
   * are no checkpoints. */
  const char* checkpoint_root;
  /* Where the shard keeps what it needs to come back after it was killed: a
   * folder of its own, on this machine. NULL or "": nowhere. */
  const char* recovery_folder;
  /* From what it comes back: "log" (every change, the default) or "checkpoint"
   * (the last). */
  const char* recovery;
  /* What a logged change survives: "device" (loss of power, the default) or
   * "system" (the end of the process). */
  const char* log_sync;
  /* By how much a log grows until what it tells is written anew as rows; 1 GiB
   * by default. */
  uint64_t log_bytes;
  /* Where the log is damaged just at the record of this number, that and all
   * that came after it are given up; 0: nothing is, and the shard does not
   * start. */
  uint64_t lose_log_from;
  /* What all tables may take, as statistics count it; unlimited by default. New
   * rows are refused there, or others evicted. */
  uint64_t memory_limit_bytes;
  uint64_t max_tables; /* Unlimited by default. */
  /* "host:port" of the shard that this one is a replica of, whose token and TLS
   * are this one's own: see cc/service/replica_service.h. NULL or "": of none.
   * A replica keeps no checkpoints, and nothing to come back from. */
  const char* replica_of;
} persia_shard_options;
/* A shard, with a store of its own, which is empty unless it comes back. Blocks
 * until it has. `shard` may be NULL. */
PERSIA_EXPORT int persia_server_start(const persia_server_options* options,
                                      const persia_shard_options* shard,
                                      persia_server** server);
/* A worker in front of the shards at `addresses`, "host:port,host:port,...",
 * whose token and TLS are the worker's own.
 * Their requests fail after `timeout_seconds`, which should be less than the
 * trainers' own, so that those learn which shard it was. Keeps copies of
 * `cache_rows` hot rows of each table (0: none). `io_threads` are as many again
 * for the shards. Connects on first use: does not block. */
PERSIA_EXPORT int persia_worker_start(const persia_server_options* options,
                                      const char* addresses,
                                      double timeout_seconds,
                                      uint64_t cache_rows,
                                      persia_server** server);
PERSIA_EXPORT int persia_server_port(const persia_server* server);
/* 0 for a replica that never had all that its source has. */
PERSIA_EXPORT int persia_server_is_ready(const persia_server* server);
/* Finishes requests in flight; blocks for at most `seconds`. */
PERSIA_EXPORT int persia_server_stop(persia_server* server, double seconds);
/* Stops at once if that was not done, and frees the handle. */
PERSIA_EXPORT void persia_server_free(persia_server* server);

/* ---- Session: a trainer's end of a cluster, found by name by the ops. ---- */

typedef struct {
  const char* addresses;  /* "host:port,host:port,..."; "": this process. */
  double timeout_seconds; /* Of every request. */
  int staleness;          /* Of batches that are not prefetched. */
  const char* wire_dtype; /* float32, float16, bfloat16 or int8. */
  uint64_t hot_rows;      /* Of each table that may be copied here; 0: none. */
  const char* auth_token; /* Shared with the servers; NULL or "": none. */
  persia_tls tls;
  /* Is told of servers that do not answer; NULL: nobody is. The log must
   * outlive the session and all that uses it. */
  persia_events* events;
} persia_session_options;
/* Opens a session. `name` is its key; an existing one is an error. */
PERSIA_EXPORT int persia_session_open(const char* name,
                                      const persia_session_options* options);
/* Flushes (its error is returned), then ends the session. Blocks. */
PERSIA_EXPORT int persia_session_close(const char* name);

/* The texts are Specs, as cc/base/spec.h has them. All but the first two may be
 * NULL: float32, unlimited, always, never. */
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
  /* Whether a table of another optimizer gets this one. */
  int replaces_optimizer;
  /* Output, of PERSIA_OPTIMIZER_BYTES, or NULL: the table's optimizer, which is
   * another one than `optimizer` where that is undecided. */
  char* held_optimizer;
} persia_table_settings;
#define PERSIA_OPTIMIZER_BYTES 1024
/* Makes or attaches to a table on every shard; *rows is what it held. Blocks
 * for at most the session's timeout. */
PERSIA_EXPORT int persia_session_create_table(
    const char* name, const char* table, const persia_table_settings* settings,
    uint64_t* rows);
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
  uint64_t requests;         /* Lookup requests, of many layers each. */
  uint64_t prefetched;       /* Lookups that found what was sent ahead. */
  uint64_t stale;            /* Lookups whose prefetched rows were too old. */
  uint64_t dropped;          /* Prefetched batches that no step took. */
  uint64_t waits;            /* Lookups that had to wait for their rows. */
  uint64_t wait_nanoseconds; /* The sum of those waits. */
  uint64_t unacknowledged;   /* Updates queued or on their way, now. */
  uint64_t registered;       /* Prefetched batches that wait, now. */
  uint64_t staleness_last;   /* Of the newest training batch. */
  uint64_t staleness_max;    /* Of all training batches. */
  uint64_t hot_hits;         /* Rows that copies in this process gave. */
  uint64_t hot_misses;       /* Rows of such tables that came from shards. */
  uint64_t bytes_out; /* Whole frames; 0 for the store in this process. */
  uint64_t bytes_in;
  uint64_t sent_requests; /* To a shard, of any kind, repeats aside. */
  uint64_t retries;       /* Requests sent again. */
  uint64_t reconnects;
} persia_session_counters;
PERSIA_EXPORT int persia_session_get_counters(
    const char* name, persia_session_counters* counters);
/* Fills batches[s], s < bins, with how many training batches had staleness s;
 * the last bin counts all that had as much or more. */
PERSIA_EXPORT int persia_session_get_staleness(const char* name,
                                               uint64_t* batches, int bins);

/* ---- Rows of a table of a session, beside training. `table` is its full name
 * and `dim` its own. Each blocks for at most the session's timeout. Only lookup
 * waits for committed updates; flush before the others to see what they did.
 * ---- */

/* Fills rows (count x dim). Changes nothing; absent ids give the default value.
 * Ids may repeat. */
PERSIA_EXPORT int persia_session_lookup(const char* name, const char* table,
                                        int dim, const int64_t* ids,
                                        uint64_t count, float* rows);
/* Sets the rows of unique ids to `rows` (count x dim), creating those that are
 * absent, and their state to `state` (count x state_size), as an export gives
 * it. A state_size of 0 stands for a new row's state. */
PERSIA_EXPORT int persia_session_assign(const char* name, const char* table,
                                        int dim, int state_size,
                                        const int64_t* ids, uint64_t count,
                                        const float* rows, const float* state);
/* *removed is how many of them there were. */
PERSIA_EXPORT int persia_session_remove(const char* name, const char* table,
                                        const int64_t* ids, uint64_t count,
                                        uint64_t* removed);

/* Takes all rows of a table at once, and the table itself unless it `stays`,
 * not 0, with its settings. Does nothing if there is no such table. */
PERSIA_EXPORT int persia_session_drop_table(const char* name, const char* table,
                                            int stays);
/* From now on the layer, as the ops name it, fails with kNotFound and `why`. */
PERSIA_EXPORT int persia_session_retire_layer(const char* name,
                                              const char* layer,
                                              const char* why);

/* How far an export has come: zeros at its begin; at_end once it is over. */
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
  /* Of each row, how long ago a training lookup asked for it last, and how many
   * did: `count` of each, where use_time is not 0. */
  const persia_row_usage* uses;
  uint32_t use_time; /* Ages are in 1: training lookups, 2: seconds. */
} persia_page_view;

/* Gives the next page, of about `max_rows` rows (maybe none, also before the
 * end), and moves the cursor on. A row that is there all the while is on one
 * page. */
PERSIA_EXPORT int persia_session_export(const char* name, const char* table,
                                        uint64_t max_rows,
                                        persia_export_cursor* cursor,
                                        persia_page** page);
PERSIA_EXPORT void persia_page_get(const persia_page* page,
                                   persia_page_view* view);
PERSIA_EXPORT void persia_page_free(persia_page* page);

/* ---- Following: what changed in the tables of a session's shards; see
 * cc/service/changes_request.h. ---- */

/* In: where the follower is. Out: where it is once it has applied the reply.
 * Zeros but for `follower`, which is random, at first. */
typedef struct {
  uint64_t follower, epoch, version;
  uint64_t base_save; /* The newest save that it may name. */
} persia_follow_position;

typedef struct {
  int begins;   /* 0 goes on, 1 since a save, 2 whole. */
  int complete; /* Not 0: all is told that changed before the request. */
  int tables;
} persia_changes_view;

typedef struct {
  const char* name; /* The full one. */
  uint32_t dim;
  const char* row_dtype; /* As a Spec. */
  uint32_t shard_index;  /* Of the rows, as those who made the table list it. */
  uint32_t shard_count;
  const int64_t* ids;
  const float* rows; /* count x dim. */
  uint64_t count;
  const int64_t* erased;
  uint64_t erased_count;
  int fate; /* 0 stays, 1 cleared, before these rows; 2 dropped. */
} persia_changed_table;

/* Asks one shard what changed since `position`, about `max_rows` rows at most;
 * 0: nothing, and the shard forgets the follower. Blocks for at most the
 * session's timeout. Waits for no updates: see flush. On failure the position
 * is as it was. */
PERSIA_EXPORT int persia_session_changes(const char* name, uint32_t shard,
                                         persia_follow_position* position,
                                         uint64_t max_rows,
                                         persia_changes** changes);
PERSIA_EXPORT void persia_changes_get(const persia_changes* changes,
                                      persia_changes_view* view);
/* What it gives stays valid until persia_changes_free. */
PERSIA_EXPORT int persia_changes_table(const persia_changes* changes, int table,
                                       persia_changed_table* out);
PERSIA_EXPORT void persia_changes_free(persia_changes* changes);

/* Fills shards[i] with the one of `shard_count` that ids[i] lives on. */
PERSIA_EXPORT int persia_shards_of_ids(const int64_t* ids, uint64_t count,
                                       uint32_t shard_count, uint32_t* shards);

/* ---- Checkpoints: see cc/service/checkpoint_request.h. ---- */

typedef struct {
  int action;
  uint64_t save_id;
  uint64_t parent_id;  /* Of an increment; 0: it is whole. */
  uint64_t generation; /* Of a swap. */
  const char* folder;
  const char* const* files;
  int file_count;
  const uint8_t* contents;
  uint64_t contents_size;
} persia_checkpoint_request;

typedef struct {
  int state; /* 0 idle, 1 running, 2 ended. */
  int code;  /* Of its outcome; 0: OK. */
  const char* message;
  const char* file;
  uint64_t rows, total_rows, bytes;
  uint64_t base_id; /* The save that an increment may be of; 0: none. */
  /* The checkpoint that was swapped in, as long as the shard would read it to
   * come back: until its log has a base. Then "". */
  const char* needed;
  int base_code; /* Why there is no base yet; 0: it is on its way. */
  const char* base_message;
} persia_checkpoint_progress;

/* Blocks for at most the session's timeout. Waits for no updates: see flush. */
PERSIA_EXPORT int persia_session_checkpoint(
    const char* name, const persia_checkpoint_request* request,
    persia_checkpoint_reply** reply);
/* What these give stays valid until persia_checkpoint_free. Numbers must be
 * within range. */
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
/* Reads all of a shard's file, from this process, and checks it. Blocks. */
PERSIA_EXPORT int persia_checkpoint_read_file(const char* path,
                                              persia_shard_file* out);
/* Writes to `out` what a chain of one shard's files comes to: see
 * cc/checkpoint/compactor.h. Blocks. */
PERSIA_EXPORT int persia_checkpoint_compact_files(const char* const* paths,
                                                  int count, uint64_t save_id,
                                                  const char* out);

/* ---- Files at URLs, for checkpoints: see cc/files/file_system.h. ---- */

/* Room for a message, with its NUL. */
#define PERSIA_FILE_MESSAGE_BYTES 1024

/* What does the work. Each returns 0 or a status code, and then fills `message`
 * (only release cannot fail). They are called on any thread, several at once,
 * a file's own one after the other, and must end within a time of their own. A
 * file or folder that is not there is an error of open and size alone. */
typedef struct {
  /* A new file, which nobody sees before it is finished. */
  int (*create)(const char* url, uint64_t* file, char* message);
  int (*append)(uint64_t file, const uint8_t* bytes, uint64_t size,
                char* message);
  int (*finish)(uint64_t file, char* message);
  int (*open)(const char* url, uint64_t* file, char* message);
  /* *got is 0 at the file's end alone. */
  int (*read)(uint64_t file, uint8_t* bytes, uint64_t size, uint64_t* got,
              char* message);
  /* Of each file, once. One that was created, and not finished, is gone. */
  void (*release)(uint64_t file);
  int (*size)(const char* url, uint64_t* bytes, char* message);
  /* In one step. */
  int (*write_whole)(const char* url, const uint8_t* bytes, uint64_t size,
                     char* message);
  int (*remove)(const char* url, char* message);
  int (*list)(const char* url, persia_file_names* names, char* message);
  int (*make_folder)(const char* url, char* message);
  int (*remove_folder)(const char* url, char* message);
} persia_files;
/* From now on these reach all URLs, for every shard, session and call of this
 * process. They must stay callable while it lives. */
PERSIA_EXPORT void persia_set_files(const persia_files* files);
/* For `list`, in any order. */
PERSIA_EXPORT void persia_file_names_add(persia_file_names* names,
                                         const char* name);

/* ---- Stats: counters of every shard of a session or of a list. ---- */

typedef struct {
  const char* address;
  uint64_t generation, lookups, updates, repeated_updates, bad_frames,
      refused_connections, connections;
  const char* source; /* Of a replica: the shard that it follows; else "". */
  /* How long ago it had all that had changed there; 2^64 - 1: never. */
  uint64_t behind_millis;
  int tables;
} persia_process_stats;

typedef struct {
  const char* name;
  uint32_t dim;
  uint64_t rows, bytes, index_slots, rows_looked_up, rows_found, rows_updated,
      nonfinite_gradients, absent_gradients, evictions, refused;
} persia_table_stats;

/* Asks every address; blocks for at most `timeout_seconds`. `auth_token` is
 * shared with the servers; NULL or "": none. `tls` may be NULL. */
PERSIA_EXPORT int persia_stats_fetch(const char* addresses,
                                     const char* auth_token,
                                     const persia_tls* tls,
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

/* ---- The clients by which exported models of this process ask shards. ---- */

typedef struct persia_remote persia_remote;

/* Bin b counts lookups of less than 2^b microseconds, and not less than half of
 * that; the last one all longer ones, too. */
#define PERSIA_LATENCY_BINS 32

typedef struct {
  uint64_t number;       /* No other client of this process has it. */
  const char* cluster;   /* Valid until persia_remote_free, as the next. */
  const char* addresses; /* That it asks: "host:port,...". */
  uint64_t lookups, ids, unique_ids, requests;
  uint64_t failures; /* Requests that a shard failed. */
  uint64_t zeros;    /* Rows that became zeros by that. */
  uint64_t hot_hits, hot_misses, hot_rows, hot_bytes; /* Copies of rows. */
  uint64_t latencies[PERSIA_LATENCY_BINS];
} persia_remote_counters;

/* The first client with a number above `after` (0 at first); NULL: there is
 * none. A model's ops open it when they are made. */
PERSIA_EXPORT int persia_remote_next(uint64_t after, persia_remote** remote);
/* Lets the handle go; the client stays. */
PERSIA_EXPORT void persia_remote_free(persia_remote* remote);
PERSIA_EXPORT void persia_remote_get_counters(const persia_remote* remote,
                                              persia_remote_counters* out);
/* Who follows the changes of rows says so, and then tells of every one:
 * copies do not grow old meanwhile. Tables without copies are passed over. */
PERSIA_EXPORT void persia_remote_set_followed(persia_remote* remote,
                                              int followed);
PERSIA_EXPORT int persia_remote_refresh(persia_remote* remote,
                                        const char* table, int dim,
                                        const int64_t* ids, uint64_t count,
                                        const float* rows);
PERSIA_EXPORT int persia_remote_erase(persia_remote* remote, const char* table,
                                      const int64_t* ids, uint64_t count);
/* Forgets the client; models that were loaded before keep it, and those that
 * come later open it anew, with the environment of then. */
PERSIA_EXPORT int persia_remote_close(uint64_t number);

/* ---- Bodies of requests for predictions: see cc/json/request_body.h. ---- */

typedef struct persia_body persia_body;

typedef struct {
  const char* signature; /* "": none is given. Valid until persia_body_free. */
  int in_rows;
  int is_named; /* Else there is one column at most, without a name. */
  int columns;
} persia_body_view;

typedef struct {
  const char* name; /* Valid until persia_body_free, as the shape. */
  uint32_t kinds;   /* As bits: 1 bool, 2 integer of 64 bits, 4 other number, 8
                       text, 16 bytes, 32 null, 64 other object. */
  int is_ragged;    /* Not 0: there is no shape. */
  int rank;
  const uint64_t* shape;
  uint64_t values;
  uint64_t text_bytes; /* Of all texts, and of all bytes in base64. */
  int64_t least;       /* Of the integers and 0. */
  uint64_t most;
} persia_body_column;

/* Where the values of a column go, row by row. */
typedef struct {
  /* 0: nothing, 1: bools of a byte, 2: integers of 8 bytes, 3: doubles of all
   * numbers, 4: texts: `values` has where each one ends in `texts`, 8 bytes
   * each. */
  int form;
  void* values;
  uint64_t value_count; /* As many as there are. */
  char* texts;
  uint64_t text_bytes; /* As many as there are. */
  uint8_t* are_base64; /* A byte for each value of form 4. */
} persia_body_output;

/* Sees what is in a JSON text, which must stay as it is until it is freed.
 * Takes as long as the text is long. */
PERSIA_EXPORT int persia_body_scan(const void* text, uint64_t size,
                                   persia_body** body);
PERSIA_EXPORT void persia_body_get(const persia_body* body,
                                   persia_body_view* view);
PERSIA_EXPORT int persia_body_get_column(const persia_body* body, int column,
                                         persia_body_column* view);
/* Reads the text once more, all columns at once: an output for each. Takes as
 * long again. */
PERSIA_EXPORT int persia_body_read(const persia_body* body,
                                   const persia_body_output* outputs,
                                   int count);
PERSIA_EXPORT void persia_body_free(persia_body* body);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_H_ */
