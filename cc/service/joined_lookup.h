// JoinedLookup: joins lookups of several callers into one lookup that contains
// each id of a table once.
//
// Not thread-safe. The joined requests must outlive it.

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
  // Builds the joined request from `members`. Precondition: `members` is not
  // empty, all or none are read-only, none has bags, and they have fewer than
  // 2^31 ids in all. The request's deadline is the earliest of the members'
  // deadlines. Its `client` is the members' client if all have the same one,
  // otherwise 0, so that no cache answers. kResourceExhausted if there is no
  // memory.
  Status Build(const std::vector<LookupRequest*>& members);

  LookupRequest* request() { return &request_; }

  // Copies each member's rows and the generation to the member. Precondition:
  // the request was answered.
  void Spread() const;

 private:
  // One member's lookup of the table.
  struct Share {
    const TableLookup* of_member;
    size_t begin;  // Index of the lookup's first id in UniqueIds::inverse.
  };
  struct Table {
    TableKey key = 0;
    uint32_t dim = 0;
    AbsentRows absent = AbsentRows::kDefault;
    std::vector<int64_t> ids;  // The shares' ids, concatenated.
    std::vector<Share> shares;
    UniqueIds unique;
    ByteBuffer rows;
  };

  void Add(const TableLookup& lookup);
  Status Finish(Table* table);

  std::vector<LookupRequest*> members_;
  std::deque<Table> tables_;  // In the order of request_.tables.
  LookupRequest request_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_JOINED_LOOKUP_H_
