#include "cc/writing/journal_records.h"

#include "cc/base/byte_reader.h"
#include "cc/store/table_config_codec.h"

namespace persia {
namespace {

// More values than any record has. As a limit, it prevents overflow when sizes
// are multiplied.
constexpr uint64_t kMaxValues = uint64_t{1} << 40;

// The lengths of the arrays that an Update record has for one table.
struct UpdateSizes {
  uint64_t ids;
  uint64_t offsets;
  uint64_t weights;
  uint64_t gradients;
};

void WriteUpdateFields(const TableUpdate& update, ByteWriter* fields) {
  fields->U64(update.ids.table);
  fields->U64(update.ids.ids.size());
  fields->U64(update.ids.bag_offsets.size());
  fields->U64(update.ids.weights.size());
  fields->U64(update.gradients.size());
  fields->U32(update.ids.dim);
  fields->U32(static_cast<uint32_t>(update.ids.combiner));
  fields->F32(update.learning_rate);
  fields->U32(update.step);
}

UpdateSizes ReadUpdateFields(ByteReader* fields, TableUpdate* update) {
  update->ids.table = fields->U64();
  const UpdateSizes sizes{fields->U64(), fields->U64(), fields->U64(),
                          fields->U64()};
  update->ids.dim = fields->U32();
  update->ids.combiner = static_cast<Combiner>(fields->U32());
  update->learning_rate = fields->F32();
  update->step = fields->U32();
  return sizes;
}

void WriteIdentity(const TableIdentity& identity, ByteWriter* fields) {
  fields->U64(identity.number);
  fields->U32(identity.is_complete ? 1 : 0);
  fields->U32(0);
}

TableIdentity ReadIdentity(ByteReader* reader) {
  TableIdentity identity;
  identity.number = reader->U64();
  identity.is_complete = reader->Bool32();
  reader->Zero32();
  return identity;
}

template <typename T>
Span<const T> ReadArray(ByteReader* reader, uint64_t count) {
  const Span<const T> values = reader->Array<T>(count);
  reader->SkipPadding();
  return values;
}

Status ReadSlots(ByteReader* reader, uint64_t count, SlotSet* slots) {
  const auto words = reader->Array<uint64_t>(count);
  const auto read =
      SlotsFromWords(std::vector<uint64_t>(words.begin(), words.end()));
  if (!read.ok()) return read.status();
  *slots = *read;
  return Status();
}

}  // namespace

template <typename T>
void RecordBody::Array(Span<const T> values) {
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(values.data()),
                         values.size() * sizeof(T));
  parts_.push_back(bytes);
  parts_.push_back(ByteWriter::PaddingAt(bytes.size()));
}

// Makes `fields` the first part of the body. Precondition: their size is a
// multiple of 8 bytes.
void RecordBody::Close(ByteWriter* fields) {
  fields_ = fields->Take();
  parts_.insert(parts_.begin(), ConstBytes(fields_));
}

Result<uint64_t> Append(const RecordBody& record, Journal* journal) {
  return journal->Append(static_cast<uint16_t>(record.type()), record.parts());
}

RecordBody RecordBody::Opened(RecoveryLevel level) {
  RecordBody body(RecordType::kOpened);
  ByteWriter fields;
  fields.U32(static_cast<uint32_t>(level));
  fields.U32(0);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Table(const TableConfig& config,
                             const TableIdentity& identity) {
  RecordBody body(RecordType::kTable);
  ByteWriter fields;
  WriteIdentity(identity, &fields);
  WriteTableConfig(config, &fields);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Changes(TableKey table, const RowChanges& changes) {
  RecordBody body(RecordType::kChanges);
  for (const auto& [id, created] : changes) {
    body.ids_.push_back(id);
    body.flags_.push_back(created ? 1 : 0);
  }
  ByteWriter fields;
  fields.U64(table);
  fields.U64(changes.size());
  body.Array(Span<const int64_t>(body.ids_));
  body.Array(Span<const uint8_t>(body.flags_));
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Update(const UpdateRequest& request) {
  RecordBody body(RecordType::kUpdate);
  ByteWriter fields;
  fields.U64(request.client);
  fields.U64(request.sequence);
  fields.U64(request.tables.size());
  for (const TableUpdate& update : request.tables) {
    WriteUpdateFields(update, &fields);
    body.Array(update.ids.ids);
    body.Array(update.ids.bag_offsets);
    body.Array(update.ids.weights);
    body.Array(update.gradients);
  }
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Assign(const AssignRequest& request) {
  RecordBody body(RecordType::kAssign);
  ByteWriter fields;
  fields.U64(request.table);
  fields.U64(request.ids.size());
  fields.U32(request.dim);
  fields.U32(request.state_size);
  body.Array(request.ids);
  body.Array(request.weights);
  body.Array(request.state);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Restore(const RestoreRecord& restore) {
  RecordBody body(RecordType::kRestore);
  ByteWriter fields;
  fields.U64(restore.shard.save_id);
  fields.U64(restore.generation);
  fields.U64(restore.shard.member);
  const std::vector<uint64_t> slots = ToWords(restore.shard.slots);
  fields.U64(slots.size());
  fields.U64(restore.files.size());
  fields.U64(restore.tables.size());
  for (const uint64_t word : slots) fields.U64(word);
  for (const auto& [table, identity] : restore.tables) {
    fields.U64(table);
    WriteIdentity(identity, &fields);
  }
  fields.Text(restore.folder);
  for (const std::string& file : restore.files) fields.Text(file);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Cut(const CutRecord& cut) {
  RecordBody body(RecordType::kCut);
  ByteWriter fields;
  fields.U64(cut.generation);
  fields.U64(cut.tables.size());
  for (const CutRecord::OfTable& table : cut.tables) {
    fields.U64(table.key);
    WriteIdentity(table.identity, &fields);
    fields.U64(table.rounded.size());
    for (const uint64_t count : table.rounded) fields.U64(count);
  }
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Drop(const DropTableRequest& request) {
  RecordBody body(RecordType::kDrop);
  ByteWriter fields;
  fields.U64(request.table);
  fields.U64(request.drop_id);
  fields.U32(request.stays ? 1 : 0);
  fields.U32(0);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Uses(const UsesRecord& uses) {
  RecordBody body(RecordType::kUses);
  ByteWriter fields;
  fields.U64(uses.table);
  fields.U64(uses.ids.size());
  fields.U32(uses.time);
  fields.U32(uses.now);
  body.Array(uses.ids);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Topology(uint64_t member, uint32_t incarnation,
                                std::vector<uint8_t> topology) {
  RecordBody body(RecordType::kTopology);
  body.flags_ = std::move(topology);
  ByteWriter fields;
  fields.U64(member);
  fields.U32(static_cast<uint32_t>(body.flags_.size()));
  fields.U32(incarnation);
  body.Array(Span<const uint8_t>(body.flags_));
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Placed(const PlacedRecord& placed) {
  RecordBody body(RecordType::kPlaced);
  ByteWriter fields;
  fields.U64(placed.table);
  fields.U64(placed.ids.size());
  fields.U32(placed.row_bytes);
  fields.U32(0);
  body.Array(placed.ids);
  body.Array(placed.rows);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Cleared(const ClearedRecord& cleared) {
  RecordBody body(RecordType::kCleared);
  const std::vector<uint64_t> words = ToWords(cleared.slots);
  ByteWriter fields;
  fields.U64(cleared.generation);
  fields.U64(words.size());
  fields.U32(cleared.arrives ? 1 : 0);
  fields.U32(cleared.removes ? 1 : 0);
  for (const uint64_t word : words) fields.U64(word);
  body.Close(&fields);
  return body;
}

RecordBody RecordBody::Applied(const AppliedRecord& record) {
  RecordBody body(RecordType::kApplied);
  const SlotsApplied& applied = record.applied;
  const std::vector<uint64_t> words = ToWords(applied.slots);
  ByteWriter fields;
  fields.U64(words.size());
  fields.U64(applied.clients.size());
  fields.U32(record.is_owned ? 1 : 0);
  fields.U32(0);
  for (const uint64_t word : words) fields.U64(word);
  for (const ClientWindow& window : applied.clients) {
    fields.U64(window.client);
    fields.U64(window.highest);
    for (const uint64_t word : window.applied) fields.U64(word);
  }
  body.Close(&fields);
  return body;
}

Status ReadOpened(const LogRecord& record, RecoveryLevel* level) {
  ByteReader reader(record.body);
  *level = static_cast<RecoveryLevel>(reader.U32());
  reader.Zero32();
  return reader.Finish("Opened record");
}

Status ReadTable(const LogRecord& record, TableConfig* config,
                 TableIdentity* identity) {
  ByteReader reader(record.body);
  *identity = ReadIdentity(&reader);
  PERSIA_RETURN_IF_ERROR(ReadTableConfig(&reader, config));
  return reader.Finish("Table record");
}

Status ReadChanges(const LogRecord& record, TableKey* table,
                   RowChanges* changes) {
  ByteReader reader(record.body);
  *table = reader.U64();
  const uint64_t count = reader.U64();
  const auto ids = ReadArray<int64_t>(&reader, count);
  const auto flags = ReadArray<uint8_t>(&reader, count);
  PERSIA_RETURN_IF_ERROR(reader.Finish("Changes record"));
  changes->clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    changes->push_back({ids[i], flags[i] != 0});
  }
  return Status();
}

Status ReadUpdate(const LogRecord& record, UpdateRequest* request) {
  ByteReader reader(record.body);
  request->client = reader.U64();
  request->sequence = reader.U64();
  const uint64_t tables = reader.U64();
  request->tables.clear();
  std::vector<UpdateSizes> sizes;
  for (uint64_t t = 0; t < tables && !reader.failed(); ++t) {
    sizes.push_back(ReadUpdateFields(&reader, &request->tables.emplace_back()));
  }
  if (reader.failed()) return reader.Finish("Update record");
  for (uint64_t t = 0; t < tables; ++t) {
    TableUpdate& update = request->tables[t];
    update.ids.ids = ReadArray<int64_t>(&reader, sizes[t].ids);
    update.ids.bag_offsets = ReadArray<uint32_t>(&reader, sizes[t].offsets);
    update.ids.weights = ReadArray<float>(&reader, sizes[t].weights);
    update.gradients = ReadArray<float>(&reader, sizes[t].gradients);
  }
  return reader.Finish("Update record");
}

Status ReadAssign(const LogRecord& record, AssignRequest* request) {
  ByteReader reader(record.body);
  request->table = reader.U64();
  const uint64_t ids = reader.U64();
  request->dim = reader.U32();
  request->state_size = reader.U32();
  if (ids > kMaxValues) {
    return Status(Code::kDataLoss, "an Assign record has too many ids");
  }
  request->ids = ReadArray<int64_t>(&reader, ids);
  request->weights = ReadArray<float>(&reader, ids * request->dim);
  // With a state size of 0 the record has no state, and the assigned rows get
  // the state of new rows.
  request->state = ReadArray<float>(&reader, ids * request->state_size);
  return reader.Finish("Assign record");
}

Status ReadRestore(const LogRecord& record, RestoreRecord* restore) {
  ByteReader reader(record.body);
  restore->shard.save_id = reader.U64();
  restore->generation = reader.U64();
  restore->shard.member = reader.U64();
  const uint64_t words = reader.U64();
  const uint64_t files = reader.U64();
  const uint64_t tables = reader.U64();
  const auto slots = reader.Array<uint64_t>(words);
  restore->tables.clear();
  for (uint64_t t = 0; t < tables && !reader.failed(); ++t) {
    auto& [table, identity] = restore->tables.emplace_back();
    table = reader.U64();
    identity = ReadIdentity(&reader);
  }
  restore->folder = reader.Text();
  restore->files.clear();
  for (uint64_t f = 0; f < files && !reader.failed(); ++f) {
    restore->files.push_back(reader.Text());
  }
  PERSIA_RETURN_IF_ERROR(reader.Finish("Restore record"));
  const auto owned = SlotsFromWords({slots.begin(), slots.end()});
  if (!owned.ok()) return owned.status();
  restore->shard.slots = *owned;
  return Status();
}

Status ReadCut(const LogRecord& record, CutRecord* cut) {
  ByteReader reader(record.body);
  cut->generation = reader.U64();
  const uint64_t tables = reader.U64();
  cut->tables.clear();
  for (uint64_t t = 0; t < tables && !reader.failed(); ++t) {
    CutRecord::OfTable& table = cut->tables.emplace_back();
    table.key = reader.U64();
    table.identity = ReadIdentity(&reader);
    const auto numbers = reader.Array<uint64_t>(reader.U64());
    table.rounded.assign(numbers.begin(), numbers.end());
  }
  return reader.Finish("Cut record");
}

Status ReadDrop(const LogRecord& record, DropTableRequest* request) {
  ByteReader reader(record.body);
  request->table = reader.U64();
  request->drop_id = reader.U64();
  request->stays = reader.Bool32();
  reader.Zero32();
  return reader.Finish("Drop record");
}

Status ReadTopology(const LogRecord& record, uint64_t* member,
                    uint32_t* incarnation, ConstBytes* topology) {
  ByteReader reader(record.body);
  *member = reader.U64();
  const uint32_t bytes = reader.U32();
  *incarnation = reader.U32();
  *topology = ReadArray<uint8_t>(&reader, bytes);
  return reader.Finish("Topology record");
}

Status ReadUses(const LogRecord& record, UsesRecord* uses) {
  ByteReader reader(record.body);
  uses->table = reader.U64();
  const uint64_t count = reader.U64();
  uses->time = reader.U32();
  uses->now = reader.U32();
  uses->ids = ReadArray<int64_t>(&reader, count);
  return reader.Finish("Uses record");
}

Status ReadPlaced(const LogRecord& record, PlacedRecord* placed) {
  ByteReader reader(record.body);
  placed->table = reader.U64();
  const uint64_t count = reader.U64();
  placed->row_bytes = reader.U32();
  reader.Zero32();
  if (count > kMaxValues) {
    return Status(Code::kDataLoss, "a Placed record has too many ids");
  }
  placed->ids = ReadArray<int64_t>(&reader, count);
  placed->rows = ReadArray<std::byte>(&reader, count * placed->row_bytes);
  return reader.Finish("Placed record");
}

Status ReadCleared(const LogRecord& record, ClearedRecord* cleared) {
  ByteReader reader(record.body);
  cleared->generation = reader.U64();
  const uint64_t words = reader.U64();
  cleared->arrives = reader.Bool32();
  cleared->removes = reader.Bool32();
  PERSIA_RETURN_IF_ERROR(ReadSlots(&reader, words, &cleared->slots));
  return reader.Finish("Cleared record");
}

Status ReadApplied(const LogRecord& record, AppliedRecord* read) {
  ByteReader reader(record.body);
  const uint64_t words = reader.U64();
  const uint64_t clients = reader.U64();
  read->is_owned = reader.Bool32();
  reader.Zero32();
  SlotsApplied* const applied = &read->applied;
  PERSIA_RETURN_IF_ERROR(ReadSlots(&reader, words, &applied->slots));
  applied->clients.clear();
  for (uint64_t i = 0; i < clients && !reader.failed(); ++i) {
    ClientWindow& window = applied->clients.emplace_back();
    window.client = reader.U64();
    window.highest = reader.U64();
    for (uint64_t& word : window.applied) word = reader.U64();
  }
  return reader.Finish("Applied record");
}

}  // namespace persia
