// ReplayedShard: a shard that is rebuilt from the log of another process,
// record by record, and that becomes a shard itself.
//
// Until TakePlace has succeeded, it must get no requests, and all other calls
// must come from one thread. Calls may block on files.

#ifndef PERSIA_CC_SHARD_REPLAYED_SHARD_H_
#define PERSIA_CC_SHARD_REPLAYED_SHARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cc/base/status.h"
#include "cc/log/segment_scanner.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/local_service.h"

namespace persia {

class ReplayedShard : public EmbeddingService {
 public:
  // The position of the next record.
  virtual uint64_t position() const = 0;
  // The checksum of the last record's body; nullopt if there was none.
  virtual std::optional<uint32_t> last_crc() const = 0;

  // Appends the next record to the shard's own log, and applies it.
  virtual Status Replay(const LogRecord& record) = 0;
  // Waits until all records are durable.
  virtual Status BlockUntilDurable() = 0;

  // How the log describes the shard, with the place that its standby has taken
  // if it says so; nullopt if it belongs to no cluster.
  virtual std::optional<Member> Described() const = 0;
  // The incarnation whose log this is.
  virtual uint32_t incarnation() const = 0;

  // Becomes the next incarnation of the shard, at `address`. On failure the
  // shard must not be used further.
  virtual Status TakePlace(const std::string& address) = 0;
};

// Opens a shard from a folder that JournalCopy has made. Errors are those of
// OpenLocalService.
Result<std::unique_ptr<ReplayedShard>> OpenReplayedShard(
    const LocalServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_REPLAYED_SHARD_H_
