// JournaledWriter: changes rows and logs the changes, so that replaying the
// recovery log gives the same rows.
//
// Changes are logged and applied under one lock, so both happen in the same
// order. The lock costs little: logging is serial anyway, and takes longer than
// applying. Lookups of present rows take the lock only for tables whose rows
// expire. They log which rows they used: without these records, rows would
// expire at other times in a replay.

#ifndef PERSIA_CC_WRITING_JOURNALED_WRITER_H_
#define PERSIA_CC_WRITING_JOURNALED_WRITER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "cc/base/span.h"
#include "cc/journal/journal.h"
#include "cc/writing/journal_records.h"
#include "cc/writing/row_writer.h"

namespace persia {

class JournaledWriter : public RowWriter {
 public:
  // `journal` must outlive the writer.
  explicit JournaledWriter(Journal* journal)
      : journal_(*journal), changes_end_(journal->position()) {}

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
  void TellTime(Table* table, uint64_t* log_end) override;

 private:
  // The last logged time of a table, and the log position after its record.
  struct ToldTime {
    const Table* table = nullptr;  // For comparison only; may dangle.
    uint32_t now = 0;
    uint64_t log_end = 0;
  };

  Status LookUpTable(Table* table, const TableLookup& lookup);
  Status MakeAbsent(Table* table, Span<const int64_t> ids,
                    Span<const uint32_t> places, uint32_t time,
                    Span<float> rows);
  Status LogUses(Table* table, Span<const int64_t> ids, uint32_t time);
  // The functions below require order_ to be held.
  Status LogUsesNow(Table* table, Span<const int64_t> ids, uint32_t time);
  Status LogTime(Table* table, uint64_t* log_end);
  Status Log(const RecordBody& body, uint64_t* log_end);
  Status LogChanges(Table* table, const RowChanges& changes);
  Status MakeRows(Table* table, Span<const int64_t> ids);

  Journal& journal_;
  std::mutex order_;
  std::unordered_map<TableKey, ToldTime> told_times_;  // Guarded by order_.
  // The log position after the last Changes record. Once the log is durable up
  // to this position, every row that a lookup may have found is durable. At
  // first the log's end, since a standby may lack what a recovery has read.
  std::atomic<uint64_t> changes_end_;
};

}  // namespace persia

#endif  // PERSIA_CC_WRITING_JOURNALED_WRITER_H_
