// RemoteTables: the client through which an exported model looks rows up from
// shards.
//
// The lookup op of an exported model uses this client in the serving process.
// The client needs no Python and does not depend on TensorFlow. A lookup passes
// through these layers:
//
// Session         removes duplicates; combines lookups that are issued together
//                 into one request per shard; copies each row to all its places
// HotRowsService  answers from copies of rows that are fresh enough
// OutageService   counts failures of shards, and may return zeros instead of an
//                 error
// RemoteService   sends requests to the shards, and waits until the deadline
//
// Lookups are read-only: they create no rows, and do not count as uses of rows.
//
// Thread-safe. No function here waits for the network. When FindRemoteTables
// opens a client, it blocks while it reads the files that environment variables
// name.

#ifndef PERSIA_CC_SERVING_REMOTE_TABLES_H_
#define PERSIA_CC_SERVING_REMOTE_TABLES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/counters.h"
#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/pipeline/session.h"
#include "cc/serving/hot_rows_service.h"
#include "cc/serving/outage_service.h"
#include "cc/serving/remote_options.h"

namespace persia {

// A histogram of how long calls took, with bins by powers of two. Thread-safe:
// each counter is atomic by itself.
class Latencies {
 public:
  // Bin b counts the calls that took at least 2^(b-1) and less than 2^b
  // microseconds. Bin 0 counts calls of less than 1 microsecond, and the last
  // bin also counts all longer calls.
  static constexpr size_t kBins = 32;

  void Add(Clock::duration latency) {
    const auto micros = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(latency).count());
    const size_t bits = micros == 0 ? 0 : 64 - __builtin_clzll(micros);
    bins_[std::min(bits, kBins - 1)].fetch_add(1, std::memory_order_relaxed);
  }

  std::array<uint64_t, kBins> bins() const {
    std::array<uint64_t, kBins> copy;
    for (size_t b = 0; b < kBins; ++b) copy[b] = bins_[b];
    return copy;
  }

 private:
  std::array<std::atomic<uint64_t>, kBins> bins_{};
};

#define PERSIA_REMOTE_COUNTERS(COUNTER)                                  \
  COUNTER(lookups)    /* Lookup calls of ops. */                         \
  COUNTER(ids)        /* Including duplicates. */                        \
  COUNTER(unique_ids) /* Without the duplicates in each lookup. */       \
  COUNTER(requests)   /* Each for several lookups; copies may answer. */ \
  COUNTER(failures)   /* Requests that failed at a shard. */             \
  COUNTER(zeros)      /* Vectors that became zeros after a failure. */   \
  COUNTER(hot_hits)   /* This and the next three: see RowCacheStats. */  \
  COUNTER(hot_misses)                                                    \
  COUNTER(hot_rows)                                                      \
  COUNTER(hot_bytes)

struct RemoteCounters {
  PERSIA_COUNTERS(PERSIA_REMOTE_COUNTERS)
  std::array<uint64_t, Latencies::kBins> latencies{};  // Of lookups.
};

// A lookup by one op of the model's graph. Ids may repeat.
struct RemoteLookup {
  // The op's name in the graph, by which the session learns which lookups are
  // issued together.
  std::string op;
  TableKey table = 0;
  uint32_t dim = 0;
  Span<const int64_t> ids;  // Must live until Lookup returns.
  AbsentRows absent = AbsentRows::kDefault;
};

class PERSIA_EXPORT RemoteTables
    : public std::enable_shared_from_this<RemoteTables> {
 public:
  // Lookups in flight end soon after the destruction, with kCancelled.
  virtual ~RemoteTables() = default;

  virtual uint64_t number() const = 0;  // Unique in this process.
  virtual const std::string& cluster() const = 0;
  virtual const std::string& addresses() const = 0;  // Joined by ",", in order.

  // Fills `rows` (ids.size() x dim), which must live until `done` is called.
  // `done` is called once, at the deadline at the latest. It runs on the
  // caller's thread or on a thread of the session, never on an I/O thread, so
  // it may do TensorFlow work. An error's message names the shard.
  virtual void Lookup(const RemoteLookup& lookup, Span<float> rows,
                      DoneCallback done) = 0;

  // A follower of the shards' changes calls these three functions: see
  // HotRowsService.
  virtual void SetFollowed(bool followed) = 0;
  virtual Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                         Span<const float> rows) = 0;
  virtual Status Erase(TableKey table, Span<const int64_t> ids) = 0;

  virtual RemoteCounters counters() const = 0;
};

// Makes a client that sends its requests to `service`, which represents the
// shards. `copies` configures the client's HotRowsService.
std::shared_ptr<RemoteTables> MakeRemoteTables(
    std::unique_ptr<EmbeddingService> service, const RemoteOptions& options,
    const RemoteAccess& access, const HotRowsOptions& copies);

// Returns the process's client with these options, or opens a client with the
// current environment if there is none. A client connects at its first request.
// Returns kInvalidArgument if the options or the environment variables are not
// valid.
PERSIA_EXPORT Result<std::shared_ptr<RemoteTables>> FindRemoteTables(
    const RemoteOptions& options);

// Returns the open client with the lowest number above `after`, or null if
// there is none.
std::shared_ptr<RemoteTables> NextRemoteTables(uint64_t after);

// Removes the client with this number from the registry, so that the next
// FindRemoteTables opens a new client. The removed client ends when its last
// user releases it. Returns kNotFound if no open client has this number.
Status CloseRemoteTables(uint64_t number);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_REMOTE_TABLES_H_
