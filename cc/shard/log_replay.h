// LogReplay: rebuilds a store from the log of another process, while that
// grows, and keeps a log and bases of its own, which are the same.
//
// Not thread-safe. Replay waits while a restored checkpoint is read.

#ifndef PERSIA_CC_SHARD_LOG_REPLAY_H_
#define PERSIA_CC_SHARD_LOG_REPLAY_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/journal/journal.h"
#include "cc/saving/file_thread.h"
#include "cc/shard/recovery.h"

namespace persia {

class LogReplay {
 public:
  // All must outlive this object.
  struct Subject {
    ShardSlots slots;
    Journal* journal;
    Recovery* recovery;
    EventLog* events;  // May be null.
  };

  explicit LogReplay(const Subject& subject) : subject_(subject) {}
  // Cancels a base that is being written, and waits until that has ended.
  ~LogReplay();

  // Appends the next record to the log, and applies it. kDataLoss if it is not
  // the next.
  Status Replay(const LogRecord& record);

 private:
  Status WriteBase(uint64_t position);

  const Subject subject_;
  std::shared_ptr<ShardProgress> base_;  // Null: none is being written.
  std::shared_ptr<std::atomic<bool>> writes_ =
      std::make_shared<std::atomic<bool>>(false);
  FileThread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_LOG_REPLAY_H_
