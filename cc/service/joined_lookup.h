// JoinedLookup: lookups of several callers as one, each id of a table once.
//
// Not thread-safe. What it joins must outlive it.

#ifndef PERSIA_CC_SERVICE_JOINED_LOOKUP_H_
#define PERSIA_CC_SERVICE_JOINED_LOOKUP_H_

#include <deque>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/dedupe.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

class JoinedLookup {
 public:
  // Precondition: there are some, all read-only or none, without bags, and with
  // fewer than 2^31 ids in all. The deadline is the earliest of theirs. The
  // request shows what one client must see only if it is one client's: no cache
  // may answer for several. kResourceExhausted if there is no memory.
  Status Build(const std::vector<LookupRequest*>& members);

  LookupRequest* request() { return &request_; }

  // Gives every member its rows and the generation. Precondition: the request
  // was answered.
  void Spread() const;

 private:
  // A part of a member that one table of the request answers.
  struct Share {
    const TableLookup* of_member;
    size_t begin;  // Its first place in UniqueIds::inverse.
  };
  struct Table {
    TableKey key = 0;
    uint32_t dim = 0;
    AbsentRows absent = AbsentRows::kDefault;
    std::vector<int64_t> ids;  // Of all shares, one after the other.
    std::vector<Share> shares;
    UniqueIds unique;
    ByteBuffer rows;
  };

  void Add(const TableLookup& lookup);
  Status Finish(Table* table);

  std::vector<LookupRequest*> members_;
  std::deque<Table> tables_;  // Those of the request, in its order.
  LookupRequest request_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_JOINED_LOOKUP_H_
