// The messages that carry ids and rows: Lookup, Update and their replies.

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/byte_reader.h"
#include "cc/wire/frame_writer.h"
#include "cc/wire/messages.h"
#include "cc/wire/table_ids_codec.h"

namespace persia {
namespace {

constexpr uint32_t kReadOnlyFlag = 1;
constexpr size_t kLookupRecordBytes = kTableRecordBytes + 8;
constexpr size_t kUpdateRecordBytes = kTableRecordBytes + 16;

// Reads the arrays of one table. Returns what is wrong with them, if the body
// was long enough to tell.
Status ReadTableIds(const TableRecord& record, ByteReader* reader,
                    TableIds* ids) {
  *ids = ReadTableArrays(record, reader);
  return reader->failed() ? Status() : CheckTableIds(*ids);
}

Status CheckAbsentRows(AbsentRows absent) {
  if (absent <= AbsentRows::kMarked) return Status();
  return InvalidArgument("what absent ids get must be 0 to 2, received ",
                         static_cast<uint32_t>(absent));
}

WireDtype ReadDtype(ByteReader* reader) {
  return static_cast<WireDtype>(reader->U32());
}

void WriteVectors(ConstBytes vectors, FrameWriter* writer) {
  writer->Array(vectors);
  writer->PadArrays();
}

// Precondition: the dtype and dim were checked. Does not overflow: a body has
// fewer than 2^30 ids and bags.
WireVectors ReadVectors(WireDtype dtype, const VectorsShape& shape,
                        ByteReader* reader) {
  const uint64_t bytes = EncodedBytes(dtype, shape.count, shape.dim);
  const WireVectors vectors{dtype, reader->Array<uint8_t>(bytes)};
  reader->SkipPadding();
  return vectors;
}

}  // namespace

OutFrame EncodeLookup(uint64_t request_id, const LookupRequest& request,
                      WireDtype reply_dtype) {
  FrameWriter writer;
  writer.U64(request.client);
  writer.U64(request.visible_sequence);
  writer.U32(request.read_only ? kReadOnlyFlag : 0);
  writer.U32(static_cast<uint32_t>(request.tables.size()));
  writer.U32(static_cast<uint32_t>(reply_dtype));
  writer.U32(0);
  for (const TableLookup& table : request.tables) {
    WriteTableRecord(table.ids, &writer);
    writer.U32(static_cast<uint32_t>(table.absent));
    writer.U32(0);
  }
  for (const TableLookup& table : request.tables) {
    WriteTableArrays(table.ids, &writer);
  }
  return writer.Seal(MessageType::kLookup, request_id);
}

Status DecodeLookup(ConstBytes body, LookupRequest* request,
                    WireDtype* reply_dtype, const RequestLimits& limits) {
  ByteReader reader(body);
  request->client = reader.U64();
  request->visible_sequence = reader.U64();
  const uint32_t flags = reader.U32();
  const uint32_t tables = reader.Count(kLookupRecordBytes);
  PERSIA_RETURN_IF_ERROR(limits.CheckTables(tables));
  *reply_dtype = ReadDtype(&reader);
  reader.Zero32();
  request->read_only = (flags & kReadOnlyFlag) != 0;
  request->tables.assign(tables, TableLookup());
  std::vector<TableRecord> records(tables);
  for (size_t t = 0; t < tables; ++t) {
    records[t] = ReadTableRecord(&reader);
    request->tables[t].absent = static_cast<AbsentRows>(reader.U32());
    reader.Zero32();
  }
  for (size_t t = 0; t < tables; ++t) {
    TableLookup& table = request->tables[t];
    PERSIA_RETURN_IF_ERROR(ReadTableIds(records[t], &reader, &table.ids));
    if (!reader.failed()) PERSIA_RETURN_IF_ERROR(CheckAbsentRows(table.absent));
  }
  PERSIA_RETURN_IF_ERROR(reader.Finish("Lookup"));
  if ((flags & ~kReadOnlyFlag) == 0) return CheckWireDtype(*reply_dtype);
  return InvalidArgument("a lookup's flags must be 0 or 1, received ", flags);
}

OutFrame EncodeLookupReply(uint64_t request_id, uint64_t generation,
                           WireDtype dtype,
                           const std::vector<ConstBytes>& rows) {
  FrameWriter writer;
  writer.U64(generation);
  writer.U32(static_cast<uint32_t>(dtype));
  writer.U32(0);
  for (const ConstBytes of_table : rows) WriteVectors(of_table, &writer);
  return writer.Seal(MessageType::kLookupReply, request_id);
}

Status DecodeLookupReplyHead(ConstBytes head, LookupReplyHead* decoded) {
  ByteReader reader(head);
  decoded->generation = reader.U64();
  decoded->dtype = ReadDtype(&reader);
  reader.Zero32();
  PERSIA_RETURN_IF_ERROR(reader.Finish("LookupReply"));
  return CheckWireDtype(decoded->dtype);
}

Status DecodeLookupReply(ConstBytes body,
                         const std::vector<VectorsShape>& tables,
                         uint64_t* generation, std::vector<WireVectors>* rows) {
  const size_t head_bytes = std::min(kLookupReplyHeadBytes, body.size());
  LookupReplyHead head;
  PERSIA_RETURN_IF_ERROR(DecodeLookupReplyHead(body.first(head_bytes), &head));
  *generation = head.generation;
  ByteReader reader(body.subspan(head_bytes));
  rows->clear();
  for (const VectorsShape& shape : tables) {
    rows->push_back(ReadVectors(head.dtype, shape, &reader));
  }
  return reader.Finish("LookupReply");
}

OutFrame EncodeUpdate(uint64_t request_id, const UpdateRequest& request,
                      const std::vector<WireVectors>& gradients) {
  FrameWriter writer;
  writer.U64(request.client);
  writer.U64(request.sequence);
  writer.U64(request.generation);
  writer.U32(static_cast<uint32_t>(request.tables.size()));
  writer.U32(0);
  for (size_t t = 0; t < request.tables.size(); ++t) {
    WriteTableRecord(request.tables[t].ids, &writer);
    writer.F32(request.tables[t].learning_rate);
    writer.U32(static_cast<uint32_t>(gradients[t].dtype));
    writer.U32(request.tables[t].step);
    writer.U32(0);
  }
  for (size_t t = 0; t < request.tables.size(); ++t) {
    WriteTableArrays(request.tables[t].ids, &writer);
    WriteVectors(gradients[t].bytes, &writer);
  }
  return writer.Seal(MessageType::kUpdate, request_id);
}

Status DecodeUpdate(ConstBytes body, UpdateRequest* request,
                    std::vector<WireVectors>* gradients,
                    const RequestLimits& limits) {
  ByteReader reader(body);
  request->client = reader.U64();
  request->sequence = reader.U64();
  request->generation = reader.U64();
  const uint32_t tables = reader.Count(kUpdateRecordBytes);
  PERSIA_RETURN_IF_ERROR(limits.CheckTables(tables));
  reader.Zero32();
  std::vector<TableRecord> records(tables);
  request->tables.assign(tables, TableUpdate());
  gradients->assign(tables, WireVectors());
  for (size_t t = 0; t < tables; ++t) {
    records[t] = ReadTableRecord(&reader);
    request->tables[t].learning_rate = reader.F32();
    (*gradients)[t].dtype = ReadDtype(&reader);
    request->tables[t].step = reader.U32();
    reader.Zero32();
  }
  for (size_t t = 0; t < tables && !reader.failed(); ++t) {
    TableIds& ids = request->tables[t].ids;
    const WireDtype dtype = (*gradients)[t].dtype;
    PERSIA_RETURN_IF_ERROR(ReadTableIds(records[t], &reader, &ids));
    if (reader.failed()) break;
    PERSIA_RETURN_IF_ERROR(CheckWireDtype(dtype));
    (*gradients)[t] = ReadVectors(dtype, {ids.vectors(), ids.dim}, &reader);
  }
  return reader.Finish("Update");
}

OutFrame EncodeUpdateReply(uint64_t request_id, const UpdateCounts& counts) {
  FrameWriter writer;
  writer.U64(counts.applied);
  writer.U64(counts.nonfinite);
  writer.U64(counts.absent);
  return writer.Seal(MessageType::kUpdateReply, request_id);
}

Status DecodeUpdateReply(ConstBytes body, UpdateCounts* counts) {
  ByteReader reader(body);
  counts->applied = reader.U64();
  counts->nonfinite = reader.U64();
  counts->absent = reader.U64();
  return reader.Finish("UpdateReply");
}

}  // namespace persia
