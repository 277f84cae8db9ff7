// The messages that carry whole rows or remove them: Export, Assign, Remove,
// DropTable and their replies.

#include <vector>

#include "cc/base/byte_reader.h"
#include "cc/wire/frame_writer.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// More than any optimizer has; bounds the factor that row counts are multiplied
// by.
constexpr uint32_t kMaxStateSize = 16 * kMaxDim;

// The arrays of `rows` in the grammar of messages.h.
struct RowArrays {
  Span<const int64_t> ids;
  Span<const float> weights;
  Span<const float> state;
};

void WriteRows(const RowArrays& rows, FrameWriter* writer) {
  writer->U64(rows.ids.size());
  writer->Array(rows.ids);
  writer->Array(rows.weights);
  writer->Array(rows.state);
}

Status CheckWidths(uint32_t dim, uint32_t state_size) {
  if (dim < 1 || dim > kMaxDim) {
    return InvalidArgument("dim must be in [1, ", kMaxDim, "], received ", dim);
  }
  if (state_size <= kMaxStateSize) return Status();
  return InvalidArgument("state size must be at most ", kMaxStateSize,
                         ", received ", state_size);
}

// Fills `rows`, which points into the body. Returns what is wrong with the
// widths, if the body was long enough to tell.
Status ReadRows(uint32_t dim, uint32_t state_size, ByteReader* reader,
                RowArrays* rows) {
  const uint64_t count = reader->U64();
  if (reader->failed()) return Status();
  PERSIA_RETURN_IF_ERROR(CheckWidths(dim, state_size));
  rows->ids = reader->Array<int64_t>(count);
  if (reader->failed()) return Status();
  // Does not overflow: the ids are in memory, so there are fewer than 2^43.
  rows->weights = reader->Array<float>(count * dim);
  rows->state = reader->Array<float>(count * state_size);
  return Status();
}

Status ReadUseTime(ByteReader* reader, UseTime* time) {
  const uint32_t value = reader->U32();
  *time = static_cast<UseTime>(value);
  if (*time <= UseTime::kSeconds) return Status();
  return Status(Code::kDataLoss,
                Concat("a page of rows tells ages in ", value,
                       ", which is neither steps nor seconds"));
}

template <typename T>
std::vector<T> Copy(Span<const T> values) {
  return std::vector<T>(values.begin(), values.end());
}

}  // namespace

OutFrame EncodeExport(uint64_t request_id, const ExportRequest& request) {
  FrameWriter writer;
  writer.U64(request.table);
  writer.U64(request.cursor.position);
  writer.U32(request.cursor.shard);
  writer.U32(0);
  writer.U64(request.max_rows);
  return writer.Seal(MessageType::kExport, request_id);
}

Status DecodeExport(ConstBytes body, ExportRequest* request) {
  ByteReader reader(body);
  request->table = reader.U64();
  request->cursor.position = reader.U64();
  request->cursor.shard = reader.U32();
  reader.Zero32();
  request->max_rows = reader.U64();
  return reader.Finish("Export");
}

OutFrame EncodeExportReply(uint64_t request_id, const ExportRequest& request) {
  FrameWriter writer;
  writer.U64(request.cursor.position);
  writer.U32(request.cursor.shard);
  writer.U32(request.dim);
  writer.U32(request.state_size);
  const RowPage& page = request.page;
  writer.U32(static_cast<uint32_t>(page.use_time));
  WriteRows({page.ids, page.weights, page.state}, &writer);
  writer.Array(Span<const RowUsage>(page.uses));
  return writer.Seal(MessageType::kExportReply, request_id);
}

Status DecodeExportReply(ConstBytes body, ExportRequest* request) {
  ByteReader reader(body);
  request->cursor.position = reader.U64();
  request->cursor.shard = reader.U32();
  request->dim = reader.U32();
  request->state_size = reader.U32();
  UseTime time;
  PERSIA_RETURN_IF_ERROR(ReadUseTime(&reader, &time));
  RowArrays rows;
  PERSIA_RETURN_IF_ERROR(
      ReadRows(request->dim, request->state_size, &reader, &rows));
  const auto uses =
      reader.Array<RowUsage>(time == UseTime::kNone ? 0 : rows.ids.size());
  PERSIA_RETURN_IF_ERROR(reader.Finish("ExportReply"));
  request->page = {Copy(rows.ids), Copy(rows.weights), Copy(rows.state),
                   Copy(uses), time};
  return Status();
}

OutFrame EncodeAssign(uint64_t request_id, const AssignRequest& request) {
  FrameWriter writer;
  writer.U64(request.table);
  writer.U32(request.dim);
  writer.U32(request.state_size);
  WriteRows({request.ids, request.weights, request.state}, &writer);
  return writer.Seal(MessageType::kAssign, request_id);
}

Status DecodeAssign(ConstBytes body, AssignRequest* request) {
  ByteReader reader(body);
  request->table = reader.U64();
  request->dim = reader.U32();
  request->state_size = reader.U32();
  RowArrays rows;
  PERSIA_RETURN_IF_ERROR(
      ReadRows(request->dim, request->state_size, &reader, &rows));
  request->ids = rows.ids;
  request->weights = rows.weights;
  request->state = rows.state;
  return reader.Finish("Assign");
}

OutFrame EncodeAssignReply(uint64_t request_id) {
  return FrameWriter().Seal(MessageType::kAssignReply, request_id);
}

Status DecodeAssignReply(ConstBytes body) {
  return ByteReader(body).Finish("AssignReply");
}

OutFrame EncodeRemove(uint64_t request_id, const RemoveRequest& request) {
  FrameWriter writer;
  writer.U64(request.table);
  writer.U64(request.ids.size());
  writer.Array(request.ids);
  return writer.Seal(MessageType::kRemove, request_id);
}

Status DecodeRemove(ConstBytes body, RemoveRequest* request) {
  ByteReader reader(body);
  request->table = reader.U64();
  const uint64_t count = reader.U64();
  request->ids = reader.Array<int64_t>(count);
  return reader.Finish("Remove");
}

OutFrame EncodeRemoveReply(uint64_t request_id, uint64_t removed) {
  FrameWriter writer;
  writer.U64(removed);
  return writer.Seal(MessageType::kRemoveReply, request_id);
}

Status DecodeRemoveReply(ConstBytes body, uint64_t* removed) {
  ByteReader reader(body);
  *removed = reader.U64();
  return reader.Finish("RemoveReply");
}

OutFrame EncodeDropTable(uint64_t request_id, const DropTableRequest& request) {
  FrameWriter writer;
  writer.U64(request.table);
  writer.U64(request.drop_id);
  writer.U32(request.stays ? 1 : 0);
  writer.U32(0);
  return writer.Seal(MessageType::kDropTable, request_id);
}

Status DecodeDropTable(ConstBytes body, DropTableRequest* request) {
  ByteReader reader(body);
  request->table = reader.U64();
  request->drop_id = reader.U64();
  request->stays = reader.Bool32();
  reader.Zero32();
  return reader.Finish("DropTable");
}

OutFrame EncodeDropTableReply(uint64_t request_id) {
  return FrameWriter().Seal(MessageType::kDropTableReply, request_id);
}

Status DecodeDropTableReply(ConstBytes body) {
  return ByteReader(body).Finish("DropTableReply");
}

}  // namespace persia
