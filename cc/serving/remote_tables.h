// RemoteTables: the tables of an exported model, which live on shards.
//
// What an export's lookup op is to the process that serves it: it needs no
// Python, and knows no TensorFlow. The path of a lookup:
//
// Session         removes duplicates; lookups that are issued together leave
//                 together, as one request a shard; spreads the rows
// HotRowsService  answers from copies of rows that are not too old
// OutageService   counts what shards fail, and may give zeros for it
// RemoteService   asks the shards, until the deadline
//
// Lookups are read-only: they create no row, and count as no use of one.
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
  uint64_t lookups = 0;     // Of ops.
  uint64_t ids = 0;         // Duplicates included.
  uint64_t unique_ids = 0;  // Of each lookup.
  uint64_t requests = 0;    // Of several lookups each, copies' included.
  uint64_t failures = 0;    // Requests that a shard failed.
  uint64_t zeros = 0;       // Rows that became zeros by that.
  RowCacheStats hot;
  std::array<uint64_t, Latencies::kBins> latencies{};  // Of lookups.
};

// One lookup of an op. Ids may repeat.
struct RemoteLookup {
  std::string op;  // Its name in the graph: which lookups come together.
  TableKey table = 0;
  uint32_t dim = 0;
  Span<const int64_t> ids;  // Need to live until Lookup returns.
  AbsentRows absent = AbsentRows::kDefault;
};

class PERSIA_EXPORT RemoteTables
    : public std::enable_shared_from_this<RemoteTables> {
 public:
  // Ends calls that are under way, with kCancelled, soon after.
  virtual ~RemoteTables() = default;

  virtual uint64_t number() const = 0;  // No other in this process has it.
  virtual const std::string& cluster() const = 0;
  virtual const std::string& addresses() const = 0;  // As they are asked.

  // Fills `rows` (ids.size() x dim, alive until `done`). `done` is called once,
  // by the deadline, on the caller's thread or on one that is lent for it, so
  // it may run TensorFlow work. An error names the shard.
  virtual void Lookup(const RemoteLookup& lookup, Span<float> rows,
                      DoneCallback done) = 0;

  // As HotRowsService has them, for who follows changes.
  virtual void SetFollowed(bool followed) = 0;
  virtual Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                         Span<const float> rows) = 0;
  virtual Status Erase(TableKey table, Span<const int64_t> ids) = 0;

  virtual RemoteCounters counters() const = 0;
};

// For `service` instead of shards, which `copies` are put in front of.
std::shared_ptr<RemoteTables> MakeRemoteTables(
    std::unique_ptr<EmbeddingService> service, const RemoteOptions& options,
    const RemoteAccess& access, const HotRowsOptions& copies);

// The process's client of these options, opened with the environment of that
// moment if there is none. It connects when it is first asked. kInvalidArgument
// for options or an environment that cannot be.
PERSIA_EXPORT Result<std::shared_ptr<RemoteTables>> FindRemoteTables(
    const RemoteOptions& options);

// The first open client with a number above `after`; null: there is none.
std::shared_ptr<RemoteTables> NextRemoteTables(uint64_t after);

// Forgets a client, so that the next who needs it opens it anew. It ends once
// those let go who hold it. kNotFound if it is not open.
Status CloseRemoteTables(uint64_t number);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_REMOTE_TABLES_H_
