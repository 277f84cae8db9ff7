// RemoteTables: the client through which an exported model looks rows up from
// shards.
//
// The lookup op of an exported model uses it in the serving process. It needs
// no Python and does not depend on TensorFlow. The layers that a lookup passes
// through:
//
// Session         removes duplicates; combines lookups that are issued together
//                 into one request per shard; copies each row to its places
// HotRowsService  answers from copies of rows that are fresh enough
// OutageService   counts failures of shards, and may return zeros instead
// RemoteService   sends requests to the shards, and waits until the deadline
//
// Lookups are read-only: they create no rows, and do not count as uses of rows.
//
// Thread-safe. Nothing here blocks on the network. FindRemoteTables blocks
// while it reads the files that the environment names, when it opens a client.

#ifndef PERSIA_CC_SERVING_REMOTE_TABLES_H_
#define PERSIA_CC_SERVING_REMOTE_TABLES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/pipeline/session.h"
#include "cc/serving/hot_rows_service.h"
#include "cc/serving/latencies.h"
#include "cc/serving/outage_service.h"
#include "cc/serving/remote_options.h"

namespace persia {

struct RemoteCounters {
  uint64_t lookups = 0;     // Lookup calls of ops.
  uint64_t ids = 0;         // Including duplicates.
  uint64_t unique_ids = 0;  // Without the duplicates in each lookup.
  uint64_t requests = 0;    // Of several lookups; also if copies answer.
  uint64_t failures = 0;    // Requests that failed at a shard.
  uint64_t zeros = 0;       // Rows that became zeros for that reason.
  RowCacheStats hot;
  std::array<uint64_t, Latencies::kBins> latencies{};  // Of lookups.
};

// One lookup of an op. Ids may repeat.
struct RemoteLookup {
  std::string op;  // Its name in the graph: groups lookups.
  TableKey table = 0;
  uint32_t dim = 0;
  Span<const int64_t> ids;  // Must live until Lookup returns.
  AbsentRows absent = AbsentRows::kDefault;
};

class PERSIA_EXPORT RemoteTables
    : public std::enable_shared_from_this<RemoteTables> {
 public:
  // Calls in flight end soon after, with kCancelled.
  virtual ~RemoteTables() = default;

  virtual uint64_t number() const = 0;  // Unique in this process.
  virtual const std::string& cluster() const = 0;
  virtual const std::string& addresses() const = 0;  // Joined by ",", in order.

  // Fills `rows` (ids.size() x dim), which must live until `done` is called.
  // `done` is called once, by the deadline, on the caller's thread or on one
  // that the session provides, never on an I/O thread: so it may run TensorFlow
  // work. An error names the shard.
  virtual void Lookup(const RemoteLookup& lookup, Span<float> rows,
                      DoneCallback done) = 0;

  // These are for a follower of changes: see HotRowsService.
  virtual void SetFollowed(bool followed) = 0;
  virtual Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                         Span<const float> rows) = 0;
  virtual Status Erase(TableKey table, Span<const int64_t> ids) = 0;

  virtual RemoteCounters counters() const = 0;
};

// A client of `service`, which stands for the shards, with `copies` in front of
// it.
std::shared_ptr<RemoteTables> MakeRemoteTables(
    std::unique_ptr<EmbeddingService> service, const RemoteOptions& options,
    const RemoteAccess& access, const HotRowsOptions& copies);

// The process's client with these options. If there is none, opens one with the
// current environment; it connects at its first request. kInvalidArgument for
// invalid options or an invalid environment.
PERSIA_EXPORT Result<std::shared_ptr<RemoteTables>> FindRemoteTables(
    const RemoteOptions& options);

// The open client with the next number above `after`, or null if there is none.
std::shared_ptr<RemoteTables> NextRemoteTables(uint64_t after);

// Removes a client, so that the next FindRemoteTables opens a new one. It ends
// when its last user releases it. kNotFound if it is not open.
Status CloseRemoteTables(uint64_t number);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_REMOTE_TABLES_H_
