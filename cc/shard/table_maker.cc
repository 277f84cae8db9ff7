#include "cc/shard/table_maker.h"

#include <utility>

#include "cc/base/hash.h"
#include "cc/base/random_bytes.h"
#include "cc/shard/table_events.h"
#include "cc/writing/journal_records.h"

namespace persia {
namespace {

Status NotWhatWasPrepared(const std::string& table) {
  return Status(
      Code::kFailedPrecondition,
      Concat("table \"", table,
             "\" changed while it was being created: this shard was restarted, "
             "or another program created or dropped the table; try again"));
}

void Describe(const Table* table, CreateTableRequest* request) {
  request->state = TableState::kAbsent;
  request->identity = 0;
  request->rows = 0;
  request->optimizer = request->config.optimizer.ToString();
  if (table == nullptr) return;
  request->optimizer = table->config().optimizer.ToString();
  const TableIdentity& identity = table->identity();
  request->state =
      identity.is_complete ? TableState::kComplete : TableState::kPrepared;
  request->identity = identity.number;
  request->rows = table->Stats().rows;
}

}  // namespace

Status TableMaker::Do(CreateTableRequest* request, uint64_t* log_end) {
  std::lock_guard<std::mutex> lock(making_);
  const TableConfig& config = request->config;
  PERSIA_RETURN_IF_ERROR(config.Validate());
  Table* table = nullptr;
  if (const auto held = subject_.store->Find(HashName(config.name));
      held.ok()) {
    table = *held;
    PERSIA_RETURN_IF_ERROR(CheckSameTable(table->config(), config));
    PERSIA_RETURN_IF_ERROR(Change(*request, table));
  } else {
    auto made = Make(*request);
    if (!made.ok()) return made.status();
    table = *made;
  }
  Describe(table, request);
  request->generation = subject_.generation->load();
  // With several shards, a bag may contain ids of other shards, and then no
  // single shard can pool it.
  request->takes_bags = subject_.ownership->OwnsAll();
  *log_end = tables_end_;
  return Status();
}

// Creates the table. For kFind, creates nothing and returns null; kComplete
// fails, since the table was not prepared.
Result<Table*> TableMaker::Make(const CreateTableRequest& request) {
  const TableConfig& config = request.config;
  if (request.step == OpeningStep::kComplete) {
    return NotWhatWasPrepared(config.name);
  }
  PERSIA_RETURN_IF_ERROR(subject_.store->CheckRoomFor(config));
  if (request.step == OpeningStep::kFind) return nullptr;
  TableIdentity identity;
  identity.is_complete = request.step == OpeningStep::kOpen;
  if (!identity.is_complete) identity.number = request.identity;
  if (identity.number == 0) {
    const auto drawn = RandomNonZero();
    if (!drawn.ok()) return drawn.status();
    identity.number = *drawn;
  }
  auto made = MakeTable(config, nullptr, subject_.store->meter(),
                        subject_.store->share());
  if (!made.ok()) return made.status();
  Table* const table = made->get();
  table->SetIdentity(identity);
  PERSIA_RETURN_IF_ERROR(Log(config, identity));
  PERSIA_RETURN_IF_ERROR(Add(std::move(*made)));
  const bool is_first = subject_.ownership->slots()[0];
  TellTableMade(subject_.events, config, is_first);
  return table;
}

Status TableMaker::Add(std::shared_ptr<Table> table) {
  return ApplyLogged(subject_.journal, [&] {
    Store::Tables tables;
    tables[HashName(table->config().name)] = std::move(table);
    subject_.store->Replace(&tables);
    return Status();
  });
}

Status TableMaker::Change(const CreateTableRequest& request, Table* table) {
  TableIdentity identity = table->identity();
  switch (request.step) {
    case OpeningStep::kFind:
      break;
    case OpeningStep::kOpen:
      identity.is_complete = true;
      break;
    case OpeningStep::kPrepare:
      // The program that prepared the table earlier did not complete it, so
      // this program's identity replaces the earlier one.
      if (!identity.is_complete && request.identity != 0) {
        identity.number = request.identity;
      }
      break;
    case OpeningStep::kComplete:
      if (identity.number != request.identity) {
        return NotWhatWasPrepared(request.config.name);
      }
      identity.is_complete = true;
      break;
  }
  if (identity == table->identity()) return Status();
  PERSIA_RETURN_IF_ERROR(Log(table->config(), identity));
  table->SetIdentity(identity);
  return Status();
}

Status TableMaker::LogChanged(const Table& table) {
  std::lock_guard<std::mutex> lock(making_);
  return Log(table.config(), table.identity());
}

// Must be called before other threads can find the table, so that the table's
// updates follow this record in the log. Must be called after all checks that
// may refuse the request, so that recovery does not create a refused table.
Status TableMaker::Log(const TableConfig& config,
                       const TableIdentity& identity) {
  if (subject_.journal == nullptr) return Status();
  const auto position =
      Append(RecordBody::Table(config, identity), subject_.journal);
  if (!position.ok()) return position.status();
  tables_end_ = *position + 1;
  return Status();
}

}  // namespace persia
