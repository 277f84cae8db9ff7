// The messages that carry ids and rows: Lookup, Update and their replies.

#include <utility>
#include <vector>

#include "cc/wire/byte_io.h"
#include "cc/wire/messages.h"
#include "cc/wire/table_ids_codec.h"

namespace persia {
namespace {

constexpr uint32_t kReadOnlyFlag = 1;
constexpr size_t kUpdateRecordBytes = kTableRecordBytes + 8;

// Reads the arrays of one table and hands back what is wrong with it, if the
// body was long enough to tell.
Status ReadTableIds(const TableRecord& record, Reader* reader, TableIds* ids) {
  *ids = ReadTableArrays(record, reader);
  return reader->failed() ? Status() : CheckTableIds(*ids);
}

}  // namespace

OutFrame EncodeLookup(uint64_t request_id, const LookupRequest& request) {
  Writer writer;
  writer.U64(request.client);
  writer.U64(request.visible_sequence);
  writer.U32(request.read_only ? kReadOnlyFlag : 0);
  writer.U32(static_cast<uint32_t>(request.tables.size()));
  for (const TableLookup& table : request.tables) {
    WriteTableRecord(table.ids, &writer);
  }
  for (const TableLookup& table : request.tables) {
    WriteTableArrays(table.ids, &writer);
  }
  return writer.Seal(MessageType::kLookup, request_id);
}

Status DecodeLookup(ConstBytes body, LookupRequest* request) {
  Reader reader(body);
  request->client = reader.U64();
  request->visible_sequence = reader.U64();
  const uint32_t flags = reader.U32();
  const uint32_t tables = reader.Count(kTableRecordBytes);
  std::vector<TableRecord> records(tables);
  for (TableRecord& record : records) record = ReadTableRecord(&reader);
  request->read_only = (flags & kReadOnlyFlag) != 0;
  request->tables.assign(tables, TableLookup());
  for (size_t t = 0; t < tables; ++t) {
    PERSIA_RETURN_IF_ERROR(
        ReadTableIds(records[t], &reader, &request->tables[t].ids));
  }
  PERSIA_RETURN_IF_ERROR(reader.Finish("Lookup"));
  if ((flags & ~kReadOnlyFlag) == 0) return Status();
  return InvalidArgument("a lookup's flags must be 0 or 1, received ", flags);
}

OutFrame EncodeLookupReply(uint64_t request_id, const LookupRequest& request) {
  Writer writer;
  writer.U64(request.generation);
  for (const TableLookup& table : request.tables) writer.Array(table.rows);
  return writer.Seal(MessageType::kLookupReply, request_id);
}

Status DecodeLookupReply(ConstBytes body, size_t floats, uint64_t* generation,
                         Span<const float>* rows) {
  Reader reader(body);
  *generation = reader.U64();
  *rows = reader.Array<float>(floats);
  return reader.Finish("LookupReply");
}

OutFrame EncodeUpdate(uint64_t request_id, const UpdateRequest& request) {
  Writer writer;
  writer.U64(request.client);
  writer.U64(request.sequence);
  writer.U64(request.generation);
  writer.U32(static_cast<uint32_t>(request.tables.size()));
  writer.U32(0);
  for (const TableUpdate& table : request.tables) {
    WriteTableRecord(table.ids, &writer);
    writer.F32(table.learning_rate);
    writer.U32(0);
  }
  for (const TableUpdate& table : request.tables) {
    WriteTableArrays(table.ids, &writer);
    writer.Array(table.gradients);
    writer.PadArrays();
  }
  return writer.Seal(MessageType::kUpdate, request_id);
}

Status DecodeUpdate(ConstBytes body, UpdateRequest* request) {
  Reader reader(body);
  request->client = reader.U64();
  request->sequence = reader.U64();
  request->generation = reader.U64();
  const uint32_t tables = reader.Count(kUpdateRecordBytes);
  reader.Zero32();
  std::vector<TableRecord> records(tables);
  request->tables.assign(tables, TableUpdate());
  for (size_t t = 0; t < tables; ++t) {
    records[t] = ReadTableRecord(&reader);
    request->tables[t].learning_rate = reader.F32();
    reader.Zero32();
  }
  for (size_t t = 0; t < tables; ++t) {
    TableUpdate& table = request->tables[t];
    PERSIA_RETURN_IF_ERROR(ReadTableIds(records[t], &reader, &table.ids));
    if (reader.failed()) break;
    // No overflow: a body holds less than 2^47 ids, and dim was checked.
    table.gradients =
        reader.Array<float>(uint64_t{table.ids.vectors()} * table.ids.dim);
    reader.SkipPadding();
  }
  return reader.Finish("Update");
}

OutFrame EncodeUpdateReply(uint64_t request_id, const UpdateCounts& counts) {
  Writer writer;
  writer.U64(counts.applied);
  writer.U64(counts.nonfinite);
  writer.U64(counts.absent);
  return writer.Seal(MessageType::kUpdateReply, request_id);
}

Status DecodeUpdateReply(ConstBytes body, UpdateCounts* counts) {
  Reader reader(body);
  counts->applied = reader.U64();
  counts->nonfinite = reader.U64();
  counts->absent = reader.U64();
  return reader.Finish("UpdateReply");
}

}  // namespace persia
