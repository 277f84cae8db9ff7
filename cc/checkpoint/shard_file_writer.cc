#include "cc/checkpoint/shard_file_writer.h"

#include "cc/base/byte_writer.h"
#include "cc/store/table_config_codec.h"

namespace persia {
namespace {

template <typename T>
ConstBytes BytesOf(Span<const T> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()),
          values.size() * sizeof(T)};
}

std::vector<uint8_t> CountOf(Span<const int64_t> ids) {
  ByteWriter count;
  count.U64(ids.size());
  return count.Take();
}

}  // namespace

Status ShardFileWriter::Begin(const ShardHeader& header) {
  ByteWriter body;
  body.U32(kCheckpointMagic);
  body.U32(kCheckpointVersion);
  body.U64(header.save_id);
  body.U64(header.parent_id);
  body.U64(header.member);
  const std::vector<uint64_t> slots = ToWords(header.slots);
  body.U64(slots.size());
  for (const uint64_t word : slots) body.U64(word);
  return Put(BlockType::kFile, body.Take());
}

Status ShardFileWriter::AddTable(const TableHead& table) {
  ByteWriter body;
  body.U32(static_cast<uint32_t>(table.layout.row_bytes));
  body.U32(static_cast<uint32_t>(table.layout.use_offset));
  body.U32(static_cast<uint32_t>(table.layout.state_offset));
  body.U32(table.time);
  body.U32(static_cast<uint32_t>(table.scope));
  WriteTableConfig(table.config, &body);
  return Put(BlockType::kTable, body.Take());
}

Status ShardFileWriter::AddErased(Span<const int64_t> ids) {
  const std::vector<uint8_t> count = CountOf(ids);
  erased_ += ids.size();
  return blocks_.Write(BlockType::kErased, {count, BytesOf(ids)});
}

Status ShardFileWriter::AddRows(Span<const int64_t> ids,
                                Span<const std::byte> rows) {
  const std::vector<uint8_t> count = CountOf(ids);
  PERSIA_RETURN_IF_ERROR(
      blocks_.Write(BlockType::kRows, {count, BytesOf(ids), BytesOf(rows)}));
  rows_ += ids.size();
  progress_.rows = rows_;
  progress_.bytes = blocks_.bytes();
  return Status();
}

Status ShardFileWriter::Finish(const std::vector<ClientWindow>& clients) {
  PERSIA_RETURN_IF_ERROR(PutClients(clients));
  ByteWriter end;
  end.U64(rows_);
  end.U64(erased_);
  PERSIA_RETURN_IF_ERROR(Put(BlockType::kEnd, end.Take()));
  progress_.bytes = blocks_.bytes();
  return blocks_.Close();
}

Status ShardFileWriter::PutClients(const std::vector<ClientWindow>& clients) {
  ByteWriter body;
  body.U64(clients.size());
  for (const ClientWindow& client : clients) {
    body.U64(client.client);
    body.U64(client.highest);
    for (const uint64_t word : client.applied) body.U64(word);
  }
  return Put(BlockType::kClients, body.Take());
}

}  // namespace persia
