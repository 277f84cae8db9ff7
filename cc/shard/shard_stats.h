// Adds the state of the parts of a shard to its statistics. Thread-safe; the
// functions take only short locks.

#ifndef PERSIA_CC_SHARD_SHARD_STATS_H_
#define PERSIA_CC_SHARD_SHARD_STATS_H_

#include "cc/journal/journal.h"
#include "cc/saving/checkpoints.h"
#include "cc/service/service_stats.h"
#include "cc/store/store.h"

namespace persia {

inline void AddMemoryStats(const Store& store, ServiceStats* stats) {
  const uint64_t limit = store.meter()->limit();
  stats->memory_bytes = store.meter()->used();
  stats->memory_limit = limit == MemoryMeter::kUnlimited ? 0 : limit;
}

inline void AddLogStats(const Journal& journal, ServiceStats* stats) {
  const Journal::Progress progress = journal.progress();
  stats->log_records = progress.records;
  stats->log_pending = progress.pending;
  stats->log_bytes = progress.bytes;
  stats->log_base_bytes = progress.base_bytes;
  stats->log_failed = progress.has_failed ? 1 : 0;
}

inline void AddCheckpointStats(const Checkpoints& checkpoints,
                               ServiceStats* stats) {
  const Checkpoints::Counts counts = checkpoints.counts();
  stats->saves = counts.saves;
  stats->restores = counts.restores;
  stats->failed_checkpoints = counts.failures;
  stats->last_save_unix = counts.last_save_unix;
  const CheckpointProgress job = checkpoints.job();
  if (job.state != CheckpointProgress::State::kRunning) return;
  stats->checkpoint_running = 1;
  stats->checkpoint_rows = job.rows;
  stats->checkpoint_total_rows = job.total_rows;
}

}  // namespace persia

#endif  // PERSIA_CC_SHARD_SHARD_STATS_H_
