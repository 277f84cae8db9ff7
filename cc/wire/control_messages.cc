// The messages that carry no rows: Error, CreateTable, Stats.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/byte_reader.h"
#include "cc/store/table_config_codec.h"
#include "cc/wire/frame_writer.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// The minimum sizes of a process and a table: their texts may be empty.
constexpr size_t kLeastProcessBytes = 88;
constexpr size_t kLeastTableStatsBytes = 96;

bool IsErrorCode(uint32_t number) {
  switch (static_cast<Code>(number)) {
    case Code::kCancelled:
    case Code::kInvalidArgument:
    case Code::kDeadlineExceeded:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kDataLoss:
    case Code::kUnauthenticated:
      return true;
    case Code::kOk:
      return false;
  }
  return false;
}

void WriteTableStats(const TableStats& table, FrameWriter* writer) {
  writer->Text(table.name);
  writer->U32(table.dim);
  writer->U32(0);
  writer->U64(table.rows);
  writer->U64(table.bytes);
  writer->U64(table.index_slots);
  writer->U64(table.rows_looked_up);
  writer->U64(table.rows_found);
  writer->U64(table.rows_updated);
  writer->U64(table.nonfinite_gradients);
  writer->U64(table.absent_gradients);
  writer->U64(table.evictions);
  writer->U64(table.refused);
}

TableStats ReadTableStats(ByteReader* reader) {
  TableStats table;
  table.name = reader->Text();
  table.dim = reader->U32();
  reader->Zero32();
  table.rows = reader->U64();
  table.bytes = reader->U64();
  table.index_slots = reader->U64();
  table.rows_looked_up = reader->U64();
  table.rows_found = reader->U64();
  table.rows_updated = reader->U64();
  table.nonfinite_gradients = reader->U64();
  table.absent_gradients = reader->U64();
  table.evictions = reader->U64();
  table.refused = reader->U64();
  return table;
}

void WriteProcess(const ServiceStats& process, FrameWriter* writer) {
  writer->Text(process.address);
  writer->U64(process.generation);
  writer->U64(process.lookups);
  writer->U64(process.updates);
  writer->U64(process.repeated_updates);
  writer->U64(process.bad_frames);
  writer->U64(process.refused_connections);
  writer->U64(process.connections);
  writer->Text(process.source);
  writer->U64(process.behind_millis);
  writer->U32(static_cast<uint32_t>(process.tables.size()));
  writer->U32(0);
  for (const TableStats& table : process.tables) {
    WriteTableStats(table, writer);
  }
}

ServiceStats ReadProcess(ByteReader* reader) {
  ServiceStats process;
  process.address = reader->Text();
  process.generation = reader->U64();
  process.lookups = reader->U64();
  process.updates = reader->U64();
  process.repeated_updates = reader->U64();
  process.bad_frames = reader->U64();
  process.refused_connections = reader->U64();
  process.connections = reader->U64();
  process.source = reader->Text();
  process.behind_millis = reader->U64();
  const uint32_t tables = reader->Count(kLeastTableStatsBytes);
  reader->Zero32();
  process.tables.reserve(tables);
  for (uint32_t i = 0; i < tables && !reader->failed(); ++i) {
    process.tables.push_back(ReadTableStats(reader));
  }
  return process;
}

}  // namespace

OutFrame EncodeError(uint64_t request_id, const Status& status) {
  FrameWriter writer;
  writer.U32(static_cast<uint32_t>(status.code()));
  writer.U32(0);
  writer.Text(status.message());
  return writer.Seal(MessageType::kError, request_id);
}

Status DecodeError(ConstBytes body) {
  ByteReader reader(body);
  const uint32_t code = reader.U32();
  reader.Zero32();
  std::string message = reader.Text();
  PERSIA_RETURN_IF_ERROR(reader.Finish("Error"));
  if (IsErrorCode(code)) {
    return Status(static_cast<Code>(code), std::move(message));
  }
  return Status(Code::kDataLoss, Concat("an Error message of unknown code ",
                                        code, ": ", message));
}

OutFrame EncodeCreateTable(uint64_t request_id,
                           const CreateTableRequest& request) {
  FrameWriter writer;
  writer.U64(request.identity);
  writer.U32(static_cast<uint32_t>(request.step));
  writer.U32(request.replaces_optimizer ? 1 : 0);
  WriteTableConfig(request.config, writer.head());
  return writer.Seal(MessageType::kCreateTable, request_id);
}

Status DecodeCreateTable(ConstBytes body, CreateTableRequest* request) {
  ByteReader reader(body);
  request->identity = reader.U64();
  const uint32_t step = reader.U32();
  request->step = static_cast<OpeningStep>(step);
  request->replaces_optimizer = reader.Bool32();
  const Status read = ReadTableConfig(&reader, &request->config);
  // If the bytes are not a message at all, report that rather than a setting
  // that they seem to contain.
  PERSIA_RETURN_IF_ERROR(reader.Finish("CreateTable"));
  if (step > static_cast<uint32_t>(kLastOpeningStep)) {
    return InvalidArgument("there is no step ", step, " of making a table");
  }
  return read;
}

OutFrame EncodeCreateTableReply(uint64_t request_id,
                                const CreateTableRequest& request) {
  FrameWriter writer;
  writer.U64(request.rows);
  writer.U64(request.generation);
  writer.U64(request.identity);
  writer.U32(static_cast<uint32_t>(request.state));
  writer.U32(request.takes_bags ? 1 : 0);
  writer.Text(request.optimizer);
  return writer.Seal(MessageType::kCreateTableReply, request_id);
}

Status DecodeCreateTableReply(ConstBytes body, CreateTableRequest* request) {
  ByteReader reader(body);
  request->rows = reader.U64();
  request->generation = reader.U64();
  request->identity = reader.U64();
  const uint32_t state = reader.U32();
  request->state = static_cast<TableState>(state);
  request->takes_bags = reader.Bool32();
  request->optimizer = reader.Text();
  PERSIA_RETURN_IF_ERROR(reader.Finish("CreateTableReply"));
  if (state <= static_cast<uint32_t>(kLastTableState)) return Status();
  return Status(Code::kDataLoss, Concat("a table has no state ", state));
}

OutFrame EncodeStats(uint64_t request_id) {
  return FrameWriter().Seal(MessageType::kStats, request_id);
}

OutFrame EncodeStatsReply(uint64_t request_id,
                          const std::vector<ServiceStats>& processes) {
  FrameWriter writer;
  writer.U32(static_cast<uint32_t>(processes.size()));
  writer.U32(0);
  for (const ServiceStats& process : processes) WriteProcess(process, &writer);
  return writer.Seal(MessageType::kStatsReply, request_id);
}

Status DecodeStatsReply(ConstBytes body, std::vector<ServiceStats>* processes) {
  ByteReader reader(body);
  const uint32_t count = reader.Count(kLeastProcessBytes);
  reader.Zero32();
  processes->clear();
  processes->reserve(count);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) {
    processes->push_back(ReadProcess(&reader));
  }
  return reader.Finish("StatsReply");
}

}  // namespace persia
