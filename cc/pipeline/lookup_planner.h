// LookupPlanner: creates the plans of lookups, and decides whether bags or
// unique ids go to the service.
//
// Bags go to the service if all of these hold:
//   - The service pools the bags of their table.
//   - The rows of the unique ids are within the service's limit.
//   - The bags and their vectors have fewer bytes than the unique ids and their
//     rows. (If ids repeat from bag to bag, there may be fewer rows than
//     vectors.)
// For a given table the choice depends on the lookup's ids alone. With float32
// on the wire, the choice does not affect results; another wire dtype rounds
// the bags' vectors instead of rows.
//
// The planner is thread-safe and holds a lock only for a short time.

#ifndef PERSIA_CC_PIPELINE_LOOKUP_PLANNER_H_
#define PERSIA_CC_PIPELINE_LOOKUP_PLANNER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "cc/base/span.h"
#include "cc/pipeline/callback_threads.h"
#include "cc/pipeline/lookup.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

class LookupPlanner {
 public:
  // Creates a planner of lookups by a service. `threads` help with many ids.
  // Both must outlive the planner.
  LookupPlanner(const EmbeddingService* service, WireDtype wire_dtype,
                CallbackThreads* threads)
      : service_(*service), wire_dtype_(wire_dtype), threads_(threads) {}

  // From now on, bags of `table` may be sent to the service, which pools them.
  void SendBagsOf(TableKey table);

  // The ids of a layer's lookup, which may repeat. CheckBags(*ids) must be OK.
  struct Ids {
    const std::string* layer;
    const TableIds* ids;
  };

  // Creates the plans of several lookups, in their order. If they have many
  // ids, creates some on other threads, and blocks until these are done.
  std::vector<std::shared_ptr<LookupPlan>> Plan(Span<const Ids> lookups) const;

 private:
  std::shared_ptr<LookupPlan> PlanOne(const std::string& layer,
                                      const TableIds& ids) const;
  bool MoveLessThanRows(const TableIds& bags,
                        Span<const int64_t> unique_ids) const;
  bool PoolsBagsOf(TableKey table) const;

  const EmbeddingService& service_;
  const WireDtype wire_dtype_;
  CallbackThreads* const threads_;
  mutable std::mutex mutex_;
  // Tables whose bags the service pools. Guarded by mutex_.
  std::unordered_set<TableKey> tables_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_PLANNER_H_
