// WholeRowRequests: the part of a shard that reads, sets and removes whole
// rows.
//
// Thread-safe, as the tables are. Callers must be inside the gate.

#ifndef PERSIA_CC_SHARD_WHOLE_ROW_REQUESTS_H_
#define PERSIA_CC_SHARD_WHOLE_ROW_REQUESTS_H_

#include <cstdint>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/ownership.h"
#include "cc/store/store.h"
#include "cc/writing/row_writer.h"

namespace persia {

class WholeRowRequests {
 public:
  // All must outlive this object.
  struct Subject {
    const Store* store;
    const Ownership* ownership;
    RowWriter* writer;
  };

  explicit WholeRowRequests(const Subject& subject) : subject_(subject) {}

  // Each sets `*log_end` to the position up to which the log must be durable
  // before the reply.
  Status Export(ExportRequest* request, uint64_t* log_end) const;
  Status Assign(const AssignRequest& request, uint64_t* log_end) const;
  Status Remove(RemoveRequest* request, uint64_t* log_end) const;

 private:
  const Subject subject_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_WHOLE_ROW_REQUESTS_H_
