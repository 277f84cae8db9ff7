/* The C interface of libpersia.so, for Python's ctypes. A function returns 0 or
 * a status code (the numbers of cc/base/status.h), and persia_last_error()
 * returns the message of the thread's last failure. Strings are UTF-8 and end
 * in NUL. Handles are thread-safe. The comment of a function states whether the
 * call may block; ctypes releases the interpreter's lock during every call. */

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
typedef struct persia_files_reply persia_files_reply;
typedef struct persia_residuals persia_residuals;
typedef struct persia_file_names persia_file_names;

/* Returns the message of the calling thread's last failed call. The text is
 * valid until the thread's next call of this interface. */
PERSIA_EXPORT const char* persia_last_error(void);

/* ---- Counters and options. Both are identified by name, so that adding one
 * changes neither a function nor a structure of this interface. ---- */

#define PERSIA_MOST_COUNTERS 32
typedef struct {
  const char* name; /* The name is valid as long as the library is loaded. */
  uint64_t value;
} persia_counter;
/* The counters are the first `count` entries of `list`. */
typedef struct {
  int count;
  persia_counter list[PERSIA_MOST_COUNTERS];
} persia_counters;

/* An option's value as text: a number in decimal digits, or a boolean as 0
 * or 1. Neither pointer may be NULL. An option that is not listed has its
 * default. */
typedef struct {
  const char* name;
  const char* value;
} persia_option;

/* ---- Events: messages of servers for their operator, to be written to a log.
 * ---- */

typedef struct {
  /* 1: info, 2: warning, 3: error, 4: debug; 0: there is no event. */
  int level;
  double unix_seconds; /* The time of the event. */
  const char* text;    /* One line, valid until the next take or free. */
} persia_event;
/* Creates a log for the events of servers. The log must outlive the servers
 * that report to it. */
PERSIA_EXPORT int persia_events_new(persia_events** events);
/* Removes the oldest event from the log and stores it in *event. If the log is
 * empty and not closed, waits for an event, for at most `seconds`. If there is
 * still no event, sets the event's level to 0. Only one thread at a time may
 * call this. */
PERSIA_EXPORT int persia_events_take(persia_events* events, double seconds,
                                     persia_event* event);
/* Closes the log, so that persia_events_take no longer blocks. Events that are
 * still in the log can be taken. */
PERSIA_EXPORT void persia_events_close(persia_events* events);
PERSIA_EXPORT void persia_events_free(persia_events* events);

/* ---- TLS: see cc/tls/tls_context.h. ---- */

/* The certificate, key and CA as PEM texts. All are set, or all are NULL for a
 * connection without TLS. */
typedef struct {
  const char* certificate;
  const char* key;
  const char* ca;
} persia_tls;

/* ---- Server: a PS shard or an embedding worker. ---- */

/* The kinds of servers. cc/capi/server_options.h lists the options of each. */
#define PERSIA_SHARD 0
#define PERSIA_WORKER 1

/* Sets *name to the name of the option at `index` of a kind of server. The name
 * is valid as long as the library is loaded. Returns kNotFound if `index` is
 * not below the number of options, and kInvalidArgument if there is no such
 * kind. */
PERSIA_EXPORT int persia_server_option(int kind, int index, const char** name);
/* Starts a server. The texts of `options` are copied. For an unknown option,
 * or a value that an option cannot have, returns kInvalidArgument with the
 * option's name. A shard has its own store, which is empty unless the shard
 * recovers; the call blocks until recovery ends. A worker connects to its
 * shards on first use, so starting one does not block. The server reports to
 * `events`, which must outlive it; if `events` is NULL, events are
 * discarded. */
PERSIA_EXPORT int persia_server_start(int kind, const persia_option* options,
                                      int option_count, persia_events* events,
                                      persia_server** server);
PERSIA_EXPORT int persia_server_port(const persia_server* server);
/* Returns 0 if the server is a replica that has not yet received all rows of
 * its source, otherwise 1. */
PERSIA_EXPORT int persia_server_is_ready(const persia_server* server);
/* Makes an embedding worker use `address`, "host:port", for shard number
 * `shard`, which has moved there. Requests that the shard has not answered are
 * sent again. */
PERSIA_EXPORT int persia_server_move_shard(persia_server* server,
                                           uint32_t shard, const char* address);
/* The same for the shard that the worker knows by the address `from`, or will
 * know by it: one that was not listed. */
PERSIA_EXPORT int persia_server_move_address(persia_server* server,
                                             const char* from, const char* to);
/* Stops the server after the requests in flight have finished. Blocks for at
 * most `seconds`. */
PERSIA_EXPORT int persia_server_stop(persia_server* server, double seconds);
/* Frees the handle. A server that was not stopped is stopped at once. */
PERSIA_EXPORT void persia_server_free(persia_server* server);

/* ---- Session: a trainer's client of a cluster. TensorFlow ops find a session
 * by its name. ---- */

typedef struct {
  /* "host:port,host:port,..."; "" for a store in this process. */
  const char* addresses;
  double timeout_seconds; /* The time limit of each request. */
  /* The limit of staleness for batches that are not prefetched. */
  int staleness;
  /* float32, float16, bfloat16, int8 or int4. */
  const char* wire_dtype;
  uint64_t hot_rows; /* How many rows of each table this process may cache. */
  const char* auth_token; /* Shared with the servers; NULL or "": none. */
  persia_tls tls;
  /* The log to which servers that do not answer are reported, or NULL. The log
   * must outlive the session and everything that uses the session. */
  persia_events* events;
} persia_session_options;
/* Opens a session called `name`. Fails if a session of this name is open. */
PERSIA_EXPORT int persia_session_open(const char* name,
                                      const persia_session_options* options);
/* Flushes the session, closes it, and returns the flush's error. Blocks. */
PERSIA_EXPORT int persia_session_close(const char* name);

/* The settings of a table. Texts are in the syntax of Spec (cc/base/spec.h).
 * NULL means float32 as row_dtype, unlimited as capacity, always as admission,
 * and never as eviction. */
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
  /* If not 0, an existing table's optimizer is replaced by `optimizer`. */
  int replaces_optimizer;
  /* Output: a buffer of PERSIA_OPTIMIZER_BYTES bytes for the table's optimizer,
   * or NULL. If `optimizer` is "undecided", the table may have another one. */
  char* held_optimizer;
} persia_table_settings;
#define PERSIA_OPTIMIZER_BYTES 1024
/* Creates a table on every shard, or attaches to an existing table. Sets *rows
 * to the number of rows that an existing table had. Blocks for at most the
 * session's timeout. */
PERSIA_EXPORT int persia_session_create_table(
    const char* name, const char* table, const persia_table_settings* settings,
    uint64_t* rows);
/* Waits until every committed update is acknowledged. Returns the first error
 * since the last flush, and clears this error. Blocks. */
PERSIA_EXPORT int persia_session_flush(const char* name);

/* Makes the session use `address`, "host:port", for shard number `shard`, which
 * has moved there. Requests that the shard has not answered are sent again,
 * until their own deadlines; shards apply an update that arrives twice once. */
PERSIA_EXPORT int persia_session_move_shard(const char* name, uint32_t shard,
                                            const char* address);
/* The same for the shard that the session knows by the address `from`, or will
 * know by it: one that was not listed. */
PERSIA_EXPORT int persia_session_move_address(const char* name,
                                              const char* from, const char* to);

/* Sets *counters to the counters in PERSIA_SESSION_COUNTERS of
 * cc/pipeline/session.h. If `name` is NULL, all values are 0. */
PERSIA_EXPORT int persia_session_get_counters(const char* name,
                                              persia_counters* counters);
/* Sets batches[s], for s < bins, to the number of training batches with
 * staleness s. The last bin also counts all batches with a higher staleness. */
PERSIA_EXPORT int persia_session_get_staleness(const char* name,
                                               uint64_t* batches, int bins);

/* ---- Access to a table's rows outside training. `table` is the table's full
 * name and `dim` its dimension. Each call blocks for at most the session's
 * timeout. Only lookup waits for committed updates; call persia_session_flush
 * before any other call that must see them. ---- */

/* Looks up the rows of `ids` and writes them to `rows` (count x dim). Creates
 * no rows: absent ids get the default value. Ids may repeat. */
PERSIA_EXPORT int persia_session_lookup(const char* name, const char* table,
                                        int dim, const int64_t* ids,
                                        uint64_t count, float* rows);
/* Sets the rows of unique ids to `rows` (count x dim), and their optimizer
 * state to `state` (count x state_size, in the form that an export returns).
 * Creates the rows that are absent. If state_size is 0, the state becomes that
 * of a new row. */
PERSIA_EXPORT int persia_session_assign(const char* name, const char* table,
                                        int dim, int state_size,
                                        const int64_t* ids, uint64_t count,
                                        const float* rows, const float* state);
/* Removes the rows of `ids`. Sets *removed to the number of rows that
 * existed. */
PERSIA_EXPORT int persia_session_remove(const char* name, const char* table,
                                        const int64_t* ids, uint64_t count,
                                        uint64_t* removed);

/* Removes all rows of a table. If `stays` is 0, removes the table too;
 * otherwise the table and its settings remain. Does nothing if the table does
 * not exist. */
PERSIA_EXPORT int persia_session_drop_table(const char* name, const char* table,
                                            int stays);
/* Makes every later call of the layer fail with kNotFound and the message
 * `why`. `layer` is the layer's name in the ops. */
PERSIA_EXPORT int persia_session_retire_layer(const char* name,
                                              const char* layer,
                                              const char* why);

/* The position of an export. All fields are 0 at first; at_end is not 0 after
 * the last page. */
typedef struct {
  uint32_t shard;
  uint64_t position, owners;
  int at_end;
} persia_export_cursor;

typedef struct {
  uint32_t age, count;
} persia_row_usage;

/* A page of an export. The pointers are valid until persia_page_free. */
typedef struct {
  const int64_t* ids;
  const float* rows;  /* count x dim. */
  const float* state; /* count x state_size. */
  uint64_t count;
  uint32_t dim, state_size;
  /* If use_time is not 0, `count` entries: for each row, the time since its
   * last training lookup, and the number of its training lookups. */
  const persia_row_usage* uses;
  uint32_t use_time; /* The unit of ages. 1: training lookups, 2: seconds. */
} persia_page_view;

/* Returns the next page of about `max_rows` rows and advances the cursor. A
 * page may be empty even before the end. A row that exists throughout the
 * export is on exactly one page. */
PERSIA_EXPORT int persia_session_export(const char* name, const char* table,
                                        uint64_t max_rows,
                                        persia_export_cursor* cursor,
                                        persia_page** page);
PERSIA_EXPORT void persia_page_get(const persia_page* page,
                                   persia_page_view* view);
PERSIA_EXPORT void persia_page_free(persia_page* page);

/* ---- Following: changes in the tables of a session's shards; see
 * cc/service/changes_request.h. ---- */

/* Input: the follower's position. Output: its position once it has applied the
 * reply. At first, all fields are 0 except `follower`, which is a random number
 * other than 0. */
typedef struct {
  uint64_t follower, epoch, version;
  /* The newest save all of whose rows the follower has, as saved or newer. */
  uint64_t base_save;
} persia_follow_position;

typedef struct {
  /* 0: the reply continues the last one, 1: it begins with the changes since a
   * save, 2: it begins with all rows. */
  int begins;
  /* Not 0 if the reply has all changes made before the request. */
  int complete;
  int tables;
  /* The id of the shard's cluster; 0 if it belongs to none. */
  uint64_t cluster;
  /* For each of the 16384 slots, its epoch if the shard owns it, else 0. */
  const uint32_t* slot_epochs;
  /* For each slot, whether the shard had not told all of its rows before this
   * reply: 1 or 0. */
  const uint8_t* fresh;
} persia_changes_view;

typedef struct {
  const char* name; /* The table's full name. */
  uint32_t dim;
  /* The dtype of the table's rows, as the text of a Spec. */
  const char* row_dtype;
  const int64_t* ids;
  const float* rows; /* count x dim. */
  uint64_t count;
  const int64_t* erased;
  uint64_t erased_count;
  /* What happened to the table before these changes. 0: nothing, 1: it was
   * cleared, 2: it was dropped. */
  int fate;
} persia_changed_table;

/* Requests the changes on one shard since `position`, in at most about
 * `max_rows` rows. The shard is the one whose id is `member`; or, if that is 0,
 * the one with the number `shard` in the session's list. If max_rows is 0,
 * requests nothing, and the shard forgets the follower. Blocks for at most the
 * session's timeout. Does not wait for committed updates: see
 * persia_session_flush. On failure `position` does not change. */
PERSIA_EXPORT int persia_session_changes(const char* name, uint32_t shard,
                                         uint64_t member,
                                         persia_follow_position* position,
                                         uint64_t max_rows,
                                         persia_changes** changes);
PERSIA_EXPORT void persia_changes_get(const persia_changes* changes,
                                      persia_changes_view* view);
/* Sets *out to the changes of the table with index `table`. The pointers are
 * valid until persia_changes_free. */
PERSIA_EXPORT int persia_changes_table(const persia_changes* changes, int table,
                                       persia_changed_table* out);
PERSIA_EXPORT void persia_changes_free(persia_changes* changes);

/* Sets slots[i] to the slot, from 0 to 16383, of ids[i]. */
PERSIA_EXPORT void persia_slots_of_ids(const int64_t* ids, uint64_t count,
                                       uint32_t* slots);

/* ---- Checkpoints: see cc/service/checkpoint_request.h. ---- */

typedef struct {
  int action;
  uint64_t save_id;
  /* The parent's save id if this save is an increment; 0 for a whole save. */
  uint64_t parent_id;
  /* The store's new generation, if the action is a swap. */
  uint64_t generation;
  const char* folder;
  const char* const* files;
  int file_count;
} persia_checkpoint_request;

typedef struct {
  int state; /* 0: idle, 1: running, 2: ended. */
  int code;  /* The status code of the outcome; 0 is OK. */
  const char* message;
  const char* file;
  uint64_t rows, total_rows, bytes;
  /* The id of the save that an increment can have as its parent; 0 if none. */
  uint64_t base_id;
  /* The folder of the checkpoint whose tables were swapped in, while the shard
   * needs this checkpoint to recover, that is, until its recovery log has a
   * newer base. Otherwise "". */
  const char* needed;
  /* The status code of the last attempt to write a base; 0 if it did not
   * fail. */
  int base_code;
  const char* base_message;
  /* For a save, the slots whose rows it has: a bit per slot, lowest bits
   * first. */
  uint64_t slots[16384 / 64];
} persia_checkpoint_progress;

/* Performs a checkpoint operation on all shards. Blocks for at most the
 * session's timeout. Does not wait for committed updates: see
 * persia_session_flush. */
PERSIA_EXPORT int persia_session_checkpoint(
    const char* name, const persia_checkpoint_request* request,
    persia_checkpoint_reply** reply);
/* The results of the next two functions are valid until persia_checkpoint_free.
 * `shard` must be a valid index. */
PERSIA_EXPORT int persia_checkpoint_shards(
    const persia_checkpoint_reply* reply);
PERSIA_EXPORT void persia_checkpoint_shard(const persia_checkpoint_reply* reply,
                                           int shard,
                                           persia_checkpoint_progress* out);
PERSIA_EXPORT void persia_checkpoint_free(persia_checkpoint_reply* reply);

/* A request to read, write, list or remove small files of a checkpoint: see
 * cc/service/files_request.h. */
typedef struct {
  int action;
  const char* folder;
  const char* const* files;
  int file_count;
  const uint8_t* contents;
  uint64_t contents_size;
} persia_files_request;

/* Performs a request on the files of a checkpoint. Blocks for at most the
 * session's timeout. */
PERSIA_EXPORT int persia_session_files(const char* name,
                                       const persia_files_request* request,
                                       persia_files_reply** reply);
/* The results of the next three functions are valid until persia_files_free.
 * `name` must be a valid index. */
PERSIA_EXPORT int persia_files_names(const persia_files_reply* reply);
PERSIA_EXPORT const char* persia_files_name(const persia_files_reply* reply,
                                            int name);
PERSIA_EXPORT const uint8_t* persia_files_contents(
    const persia_files_reply* reply, uint64_t* size);
PERSIA_EXPORT void persia_files_free(persia_files_reply* reply);

/* Copies what error feedback keeps for a session's later gradients: the
 * contents of files to be stored with a checkpoint, or no file. Call
 * persia_session_flush first. */
PERSIA_EXPORT int persia_session_save_residuals(const char* name,
                                                persia_residuals** residuals);
/* The results of the next two functions are valid until persia_residuals_free.
 * `file` must be a valid index. */
PERSIA_EXPORT int persia_residuals_files(const persia_residuals* residuals);
PERSIA_EXPORT const uint8_t* persia_residuals_file(
    const persia_residuals* residuals, int file, uint64_t* size);
PERSIA_EXPORT void persia_residuals_free(persia_residuals* residuals);
/* Replaces what error feedback keeps by the `count` files of a checkpoint,
 * which was restored with this `generation`. */
PERSIA_EXPORT int persia_session_restore_residuals(const char* name,
                                                   const uint8_t* const* files,
                                                   const uint64_t* sizes,
                                                   int count,
                                                   uint64_t generation);
/* Verifies the `count` files of a checkpoint in this process, and counts the
 * ids of whose gradients they have what was lost. */
PERSIA_EXPORT int persia_residuals_count(const uint8_t* const* files,
                                         const uint64_t* sizes, int count,
                                         uint64_t* ids);

typedef struct {
  uint64_t save_id, parent_id;
  uint64_t member; /* The id of the shard that wrote the file. */
  uint64_t tables, rows, erased;
  /* Whose rows the file has: a bit per slot, lowest bits first. */
  uint64_t slots[16384 / 64];
} persia_shard_file;
/* Reads and verifies a whole shard file in this process, and counts its
 * contents. Blocks. */
PERSIA_EXPORT int persia_checkpoint_read_file(const char* path,
                                              persia_shard_file* out);
/* Merges a chain of one shard's files into one file at `out`: see
 * cc/checkpoint/compactor.h. Blocks. */
PERSIA_EXPORT int persia_checkpoint_compact_files(const char* const* paths,
                                                  int count, uint64_t save_id,
                                                  const char* out);

/* ---- Files at URLs, for checkpoints: see cc/files/file_system.h. ---- */

/* The size of a callback's `message` buffer, including the NUL. */
#define PERSIA_FILE_MESSAGE_BYTES 1024

/* Callbacks for files at URLs. Each returns 0, or a status code after it has
 * written an error message to `message`; only release cannot fail. Any thread
 * may call them, also concurrently, but two calls for the same file never
 * overlap. Each must return within a time limit of its own. A missing file or
 * folder is an error only for open and size. */
typedef struct {
  /* Creates a file that stays invisible until finish is called. */
  int (*create)(const char* url, uint64_t* file, char* message);
  int (*append)(uint64_t file, const uint8_t* bytes, uint64_t size,
                char* message);
  int (*finish)(uint64_t file, char* message);
  int (*open)(const char* url, uint64_t* file, char* message);
  /* Reads at most `size` bytes and sets *got to their number, which is 0 only
   * at the end of the file. */
  int (*read)(uint64_t file, uint8_t* bytes, uint64_t size, uint64_t* got,
              char* message);
  /* Releases a file; called once for each file. Discards a created file that
   * was not finished. */
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
/* Makes these callbacks handle all URLs in this process, for every shard,
 * session and call. The callbacks must remain callable until the process
 * exits. */
PERSIA_EXPORT void persia_set_files(const persia_files* files);
/* Adds one name to the result of the `list` callback, in any order. */
PERSIA_EXPORT void persia_file_names_add(persia_file_names* names,
                                         const char* name);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_H_ */
