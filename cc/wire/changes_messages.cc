// The messages about changes of rows: Changes and its reply.

#include <utility>
#include <vector>

#include "cc/base/byte_reader.h"
#include "cc/store/table_config_codec.h"
#include "cc/wire/frame_writer.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// The minimum size of a table: its texts may be empty.
constexpr size_t kLeastTableBytes = 104;

// A table's numbers of ids and of erased ids.
struct Counts {
  uint64_t ids;
  uint64_t erased;
};

template <typename T>
std::vector<T> Copy(Span<const T> values) {
  return std::vector<T>(values.begin(), values.end());
}

Status ReadFate(const Counts& counts, ByteReader* reader, TableFate* fate) {
  const uint32_t number = reader->U32();
  reader->Zero32();
  *fate = static_cast<TableFate>(number);
  if (number > static_cast<uint32_t>(kLastFate)) {
    return InvalidArgument("a table has no fate ", number);
  }
  if (*fate != TableFate::kDropped || counts.ids + counts.erased == 0) {
    return Status();
  }
  return InvalidArgument("a table that was dropped has rows");
}

void ReadRows(const Counts& counts, uint32_t dim, ByteReader* reader,
              RowDelta* rows) {
  const auto ids = reader->Array<int64_t>(counts.ids);
  const auto erased = reader->Array<int64_t>(counts.erased);
  if (reader->failed()) return;
  // Does not overflow: the ids are in memory, so there are fewer than 2^43.
  const auto weights = reader->Array<float>(ids.size() * dim);
  reader->SkipPadding();
  if (!reader->failed()) *rows = {Copy(ids), Copy(weights), Copy(erased)};
}

}  // namespace

OutFrame EncodeChanges(uint64_t request_id, uint32_t shard,
                       const ChangesRequest& request) {
  FrameWriter writer;
  writer.U64(request.position.follower);
  writer.U64(request.position.epoch);
  writer.U64(request.position.version);
  writer.U64(request.position.base_save);
  writer.U64(request.max_rows);
  writer.U64(request.max_bytes);
  writer.U32(shard);
  writer.U32(0);
  return writer.Seal(MessageType::kChanges, request_id);
}

Status DecodeChanges(ConstBytes body, ChangesRequest* request) {
  ByteReader reader(body);
  request->position.follower = reader.U64();
  request->position.epoch = reader.U64();
  request->position.version = reader.U64();
  request->position.base_save = reader.U64();
  request->max_rows = reader.U64();
  request->max_bytes = reader.U64();
  request->shard = reader.U32();
  reader.Zero32();
  return reader.Finish("Changes");
}

OutFrame EncodeChangesReply(uint64_t request_id,
                            const ChangesRequest& request) {
  FrameWriter writer;
  writer.U64(request.position.epoch);
  writer.U64(request.position.version);
  writer.U64(request.position.base_save);
  writer.U32(static_cast<uint32_t>(request.begins));
  writer.U32(request.complete ? 1 : 0);
  writer.U32(static_cast<uint32_t>(request.tables.size()));
  writer.U32(0);
  for (const TableChanges& table : request.tables) {
    WriteTableConfig(table.config, writer.head());
    writer.U64(table.rows.ids.size());
    writer.U64(table.rows.erased.size());
    writer.U32(static_cast<uint32_t>(table.fate));
    writer.U32(0);
  }
  for (const TableChanges& table : request.tables) {
    writer.Array(Span<const int64_t>(table.rows.ids));
    writer.Array(Span<const int64_t>(table.rows.erased));
    writer.Array(Span<const float>(table.rows.weights));
    writer.PadArrays();
  }
  return writer.Seal(MessageType::kChangesReply, request_id);
}

Status DecodeChangesReply(ConstBytes body, ChangesRequest* request) {
  ByteReader reader(body);
  request->position.epoch = reader.U64();
  request->position.version = reader.U64();
  request->position.base_save = reader.U64();
  const uint32_t begins = reader.U32();
  request->begins = static_cast<Begins>(begins);
  request->complete = reader.Bool32();
  const uint32_t count = reader.Count(kLeastTableBytes);
  reader.Zero32();
  request->tables.clear();
  request->tables.resize(count);
  std::vector<Counts> counts(count);
  Status valid;
  for (uint32_t t = 0; t < count && !reader.failed(); ++t) {
    TableConfig& config = request->tables[t].config;
    const Status read = ReadTableConfig(&reader, &config);
    counts[t] = {reader.U64(), reader.U64()};
    const Status fate = ReadFate(counts[t], &reader, &request->tables[t].fate);
    if (valid.ok()) valid = read.ok() ? config.Validate() : read;
    if (valid.ok()) valid = fate;
  }
  for (uint32_t t = 0; t < count && !reader.failed(); ++t) {
    TableChanges& table = request->tables[t];
    ReadRows(counts[t], table.config.dim, &reader, &table.rows);
  }
  PERSIA_RETURN_IF_ERROR(reader.Finish("ChangesReply"));
  PERSIA_RETURN_IF_ERROR(valid);
  if (begins <= static_cast<uint32_t>(kLastBegins)) return Status();
  return InvalidArgument("there is no beginning ", begins);
}

}  // namespace persia
