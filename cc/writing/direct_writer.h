// DirectWriter: changes rows without logging the changes.

#ifndef PERSIA_CC_WRITING_DIRECT_WRITER_H_
#define PERSIA_CC_WRITING_DIRECT_WRITER_H_

#include "cc/writing/row_writer.h"

namespace persia {

class DirectWriter : public RowWriter {
 public:
  Status Lookup(const Tables& tables, LookupRequest* request,
                uint64_t* log_end) override;
  Status Read(const Tables& tables, LookupRequest* request,
              uint64_t* log_end) override;
  Status Update(const Tables& tables, UpdateRequest* request,
                uint64_t* log_end) override;
  Status Assign(Table* table, const AssignRequest& request,
                uint64_t* log_end) override;
  Status Remove(Table* table, RemoveRequest* request,
                uint64_t* log_end) override;
  Status Place(Table* table, const RawRows& rows, uint64_t* log_end) override;
  void TellTime(Table*, uint64_t*) override {}
};

}  // namespace persia

#endif  // PERSIA_CC_WRITING_DIRECT_WRITER_H_
