// The records of a shard's recovery log (Journal). All numbers are
// little-endian, and a body begins at a multiple of 8 bytes.
//
//   array   = its values, and zeros to a multiple of 8 bytes
//   Opened  = level, 32 bits (see RecoveryLevel); 0, 32 bits
//   identity = number, 64 bits; complete (0 or 1), 32 bits; 0, 32 bits; see
//             TableIdentity
//   Table   = identity; config, see table_config_codec.h. If the table already
//             exists, it gets this identity and, if its optimizer differs, the
//             optimizer of this config
//   Changes = table's key, count, 64 bits each; array of that many ids, 64 bits
//             each; array of as many bytes: 1 for a row that was created, 0 for
//             one that was removed
//   Update  = client, sequence, number of tables, 64 bits each; for each table
//             its key and the numbers of ids, offsets, weights and gradients,
//             64 bits each; dim, combiner, 32 bits each; learning rate, step,
//             32 bits each; then for each table the arrays of ids, 64 bits per
//             value, and of offsets, weights and gradients, 32 bits per value
//   Assign  = key, number of ids, 64 bits each; dim, state size, 32 bits each;
//             the arrays of ids, weights and state
//   Restore = save id, generation, the shard's id, number of words, number of
//             files, number of tables, 64 bits each; the words, 64 bits each,
//             which are the slots that the shard owned: see ToWords in
//             slot_set.h; for each table its key, 64 bits, and its new
//             identity; texts of the folder and the files
//   Drop    = key, drop id, 64 bits each; 1 if the table stays, else 0, 32
//             bits; 0, 32 bits
//   Uses    = key, count, 64 bits each; time of a training lookup, time of the
//             table after it, 32 bits each; array of the `count` ids, 64 bits
//             each, whose rows the lookup used: see RowUse
//   Cut     = generation, number of tables, 64 bits each; for each table its
//             key, 64 bits, its identity, a count, 64 bits, and that many
//             numbers of 64 bits each: see Table::Rounded
//   Topology = the shard's id, 64 bits; number of bytes, the shard's
//             incarnation, 32 bits each; array of as many bytes: the encoded
//             topology, or none if the shard belongs to no cluster
//   Placed  = key, number of ids, 64 bits each; bytes of a row, 0, 32 bits
//             each; arrays of the ids, 64 bits each, and of their rows in the
//             table's layout
//   Cleared = generation of the store from now on, number of words, 64 bits
//             each; 1 if rows of the slots will come, else 0; 1 if the rows
//             that are there are removed, else 0, 32 bits each; that many words
//             of 64 bits: see ToWords
//   Applied = number of words, number of clients, 64 bits each; 1 if the shard
//             owns the slots, else 0; 0, 32 bits each; that many words of 64
//             bits: see ToWords; for each client its number, its highest
//             sequence number, 64 bits each, and ClientWindow::applied
//
// An Update record has the ids and bags as they were in the request. The
// Changes record that creates a row comes before any Update of the row. Uses
// are logged for tables whose rows expire, so that replay finds the same rows
// expired; a Uses record without ids only advances the table's time.
//
// Thread-safety: pure functions. They throw std::bad_alloc.

#ifndef PERSIA_CC_WRITING_JOURNAL_RECORDS_H_
#define PERSIA_CC_WRITING_JOURNAL_RECORDS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/byte_writer.h"
#include "cc/base/catch_bad_alloc.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/journal/journal.h"
#include "cc/log/segment_scanner.h"
#include "cc/service/embedding_service.h"
#include "cc/store/table.h"
#include "cc/writing/slot_windows.h"

namespace persia {

enum class RecordType : uint16_t {
  kOpened = 1,   // A server starts to write the log.
  kTable = 2,    // A table is created, or its optimizer or identity changes.
  kChanges = 3,  // Rows are created and removed.
  kUpdate = 4,
  kAssign = 5,
  kRestore = 6,    // The store's tables become those of a checkpoint.
  kCut = 7,        // The first record after a base. Holds what the base lacks.
  kDrop = 8,       // A table is dropped, or all its rows are.
  kUses = 9,       // Rows were looked up, or the table's time advanced.
  kTopology = 10,  // The cluster's topology, as the shard knows it, changes.
  kPlaced = 11,    // Rows come from another shard.
  kCleared = 12,   // Some slots begin to be taken over, or were given away.
  kApplied = 13,   // Which updates other shards have applied to some slots.
};

// What the recovery log records.
enum class RecoveryLevel : uint32_t {
  kCheckpoint = 1,  // Which tables exist, and which checkpoint is the latest.
  kLog = 2,         // Every change of tables and rows.
};

using TableIdentities = std::vector<std::pair<TableKey, TableIdentity>>;

// Names the checkpoint from which a recovery reads the rows.
struct RestoreRecord {
  ShardHeader shard;  // Its slots are those whose rows are read.
  uint64_t generation = 0;
  std::string folder;
  std::vector<std::string> files;  // Paths; those of parents come first.
  TableIdentities tables;          // New identities of the tables.
};

// A training lookup of `ids` at `time`, after which the table's time was `now`.
// Does not own the ids.
struct UsesRecord {
  TableKey table = 0;
  uint32_t time = 0;
  uint32_t now = 0;
  Span<const int64_t> ids;
};

struct CutRecord {
  struct OfTable {
    TableKey key = 0;
    TableIdentity identity;
    std::vector<uint64_t> rounded;
  };

  uint64_t generation = 0;
  std::vector<OfTable> tables;
};

// Rows that come from another shard, in the table's layout. Does not own them.
struct PlacedRecord {
  TableKey table = 0;
  uint32_t row_bytes = 0;
  Span<const int64_t> ids;
  Span<const std::byte> rows;
};

struct ClearedRecord {
  uint64_t generation = 0;  // Of the store.
  SlotSet slots;
  bool arrives = false;  // Whether rows will come from another shard.
  bool removes = false;  // Whether the rows that are there are removed.
};

struct AppliedRecord {
  SlotsApplied applied;
  bool is_owned = false;  // Whether the shard owns the slots.
};

// A record's body in parts: the fields, and arrays that the RecordBody does not
// own and that must outlive it.
class RecordBody {
 public:
  static RecordBody Opened(RecoveryLevel level);
  static RecordBody Table(const TableConfig& config,
                          const TableIdentity& identity);
  // Copies `changes`, which need not outlive the body.
  static RecordBody Changes(TableKey table, const RowChanges& changes);
  static RecordBody Update(const UpdateRequest& request);
  static RecordBody Assign(const AssignRequest& request);
  static RecordBody Restore(const RestoreRecord& restore);
  static RecordBody Cut(const CutRecord& cut);
  static RecordBody Drop(const DropTableRequest& request);
  static RecordBody Uses(const UsesRecord& uses);
  static RecordBody Placed(const PlacedRecord& placed);
  static RecordBody Cleared(const ClearedRecord& cleared);
  static RecordBody Applied(const AppliedRecord& record);
  // Copies `topology`, which need not outlive the body.
  static RecordBody Topology(uint64_t member, uint32_t incarnation,
                             std::vector<uint8_t> topology);

  RecordBody(RecordBody&&) = default;
  RecordBody(const RecordBody&) = delete;
  RecordBody& operator=(const RecordBody&) = delete;

  RecordType type() const { return type_; }
  Span<const ConstBytes> parts() const { return parts_; }

 private:
  explicit RecordBody(RecordType type) : type_(type) {}

  template <typename T>
  void Array(Span<const T> values);
  void Close(ByteWriter* fields);

  RecordType type_;
  std::vector<uint8_t> fields_;
  std::vector<int64_t> ids_;
  std::vector<uint8_t> flags_;
  std::vector<ConstBytes> parts_;  // The first part refers to fields_.
};

// Appends a record to the log: see Journal::Append.
Result<uint64_t> Append(const RecordBody& record, Journal* journal);

// Calls apply(), which returns a Status, to apply a change that is already
// logged. If memory runs out, the change may be applied in part; the log is
// then broken and accepts no more records. `journal` may be null.
template <typename Apply>
Status ApplyLogged(Journal* journal, const Apply& apply) {
  Status applied = CatchBadAlloc(apply);
  if (!applied.ok() && journal != nullptr) journal->Break(applied);
  return applied;
}

// The functions below parse a record's body, and return kDataLoss if the body
// is malformed. Spans in their outputs point into the body.
Status ReadOpened(const LogRecord& record, RecoveryLevel* level);
Status ReadTable(const LogRecord& record, TableConfig* config,
                 TableIdentity* identity);
Status ReadChanges(const LogRecord& record, TableKey* table,
                   RowChanges* changes);
Status ReadUpdate(const LogRecord& record, UpdateRequest* request);
Status ReadAssign(const LogRecord& record, AssignRequest* request);
Status ReadRestore(const LogRecord& record, RestoreRecord* restore);
Status ReadCut(const LogRecord& record, CutRecord* cut);
Status ReadDrop(const LogRecord& record, DropTableRequest* request);
Status ReadUses(const LogRecord& record, UsesRecord* uses);
Status ReadPlaced(const LogRecord& record, PlacedRecord* placed);
Status ReadCleared(const LogRecord& record, ClearedRecord* cleared);
Status ReadApplied(const LogRecord& record, AppliedRecord* applied);
Status ReadTopology(const LogRecord& record, uint64_t* member,
                    uint32_t* incarnation, ConstBytes* topology);

}  // namespace persia

#endif  // PERSIA_CC_WRITING_JOURNAL_RECORDS_H_
