#include "cc/writing/direct_writer.h"

#include "cc/base/catch_bad_alloc.h"
#include "cc/writing/table_calls.h"

namespace persia {

Status DirectWriter::Lookup(const Tables& tables, LookupRequest* request,
                            uint64_t*) {
  LookUpAll(tables, request);
  return Status();
}

Status DirectWriter::Read(const Tables& tables, LookupRequest* request,
                          uint64_t*) {
  LookUpAll(tables, request);
  return Status();
}

Status DirectWriter::Update(const Tables& tables, UpdateRequest* request,
                            uint64_t*) {
  ApplyAll(tables, request);
  return Status();
}

Status DirectWriter::Assign(Table* table, const AssignRequest& request,
                            uint64_t*) {
  table->Assign(request.ids, request.weights, request.state);
  return Status();
}

Status DirectWriter::Remove(Table* table, RemoveRequest* request, uint64_t*) {
  request->removed = table->Remove(request->ids);
  return Status();
}

Status DirectWriter::Place(Table* table, const RawRows& rows, uint64_t*) {
  return CatchBadAlloc([&] {
    table->Place(rows);
    return Status();
  });
}

}  // namespace persia
