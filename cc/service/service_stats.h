// ServiceStats: what a process tells about itself: its counters since it
// started, and the state that operators watch.

#ifndef PERSIA_CC_SERVICE_SERVICE_STATS_H_
#define PERSIA_CC_SERVICE_SERVICE_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/latency_histogram.h"
#include "cc/store/table.h"

namespace persia {

#define PERSIA_PROCESS_COUNTERS(COUNTER)                                    \
  COUNTER(generation)       /* The store's; a restore raises it. */         \
  COUNTER(lookups)          /* Lookup requests. */                          \
  COUNTER(updates)          /* Update requests, duplicates included. */     \
  COUNTER(repeated_updates) /* Recognized as applied before. */             \
  COUNTER(lost_updates)     /* Upper bound: see LostUpdates. */             \
  COUNTER(bad_frames) /* Connections closed because of malformed data. */   \
  COUNTER(refused_connections) /* Without the token, or over the limit. */  \
  COUNTER(connections)         /* Currently open. */                        \
  COUNTER(bytes_in)            /* Of requests, as whole frames. */          \
  COUNTER(bytes_out)           /* Of replies, as whole frames. */           \
  COUNTER(retries)        /* Of a worker: requests sent to shards again. */ \
  COUNTER(reconnects)     /* Of a worker: connections after the first. */   \
  COUNTER(memory_bytes)   /* Of all tables. */                              \
  COUNTER(memory_limit)   /* Of all tables; 0: unlimited. */                \
  COUNTER(log_records)    /* Appended to the log, since it was created. */  \
  COUNTER(log_pending)    /* Appended, but not durable yet. */              \
  COUNTER(log_bytes)      /* Appended since the last base. */               \
  COUNTER(log_base_bytes) /* The size of the last base. */                  \
  COUNTER(log_failed)     /* 1 if the log accepts no more records. */       \
  COUNTER(saves)          /* Checkpoints whose save was completed. */       \
  COUNTER(restores)       /* Checkpoints that replaced tables. */           \
  COUNTER(failed_checkpoints)    /* Saves and restores that failed. */      \
  COUNTER(last_save_unix)        /* When a save was completed; 0: never. */ \
  COUNTER(checkpoint_running)    /* 1 if a save or restore runs. */         \
  COUNTER(checkpoint_rows)       /* Written or read by it so far. */        \
  COUNTER(checkpoint_total_rows) /* That a save will write. */              \
  COUNTER(member)                /* A shard's id: see topology/member.h. */ \
  COUNTER(slots)                 /* How many slots a shard owns. */

// The requests of one type that a server answered.
struct RequestStats {
  std::string request;  // The type's name, such as "lookup".
  uint64_t failed = 0;  // Answered with an error.
  // From the arrival of the request's frame until its reply is ready to be
  // written.
  LatencyCounts latency;
};

// A program that trains, as a shard sees it.
#define PERSIA_TRAINER_COUNTERS(COUNTER)                                 \
  COUNTER(updates)       /* Update requests with work for this shard. */ \
  COUNTER(staleness)     /* Of the newest: see TrainerState. */          \
  COUNTER(staleness_max) /* The maximum over all updates. */             \
  COUNTER(idle_millis)   /* Since the last update. */

struct TrainerStats {
  std::string program;  // "host:pid".
  PERSIA_COUNTERS(PERSIA_TRAINER_COUNTERS)
};

struct ServiceStats {
  static constexpr uint64_t kNeverComplete = ~uint64_t{0};

  std::string address;  // "host:port", or "embedded".
  std::string role;     // "shard", "replica" or "worker".
  PERSIA_COUNTERS(PERSIA_PROCESS_COUNTERS)
  // In a replica, `source` is "host:port" of the shard that it follows, and
  // `behind_millis` is the time since the replica last had every change of that
  // shard, or kNeverComplete if it never had. In any other process, `source` is
  // empty and `behind_millis` is kNeverComplete.
  std::string source;
  uint64_t behind_millis = kNeverComplete;
  std::vector<TableStats> tables;
  std::vector<RequestStats> requests;  // Only types that were requested.
  std::vector<TrainerStats> trainers;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_SERVICE_STATS_H_
