#include <algorithm>
#include <utility>

#include "cc/base/byte_writer.h"
#include "cc/base/catch_bad_alloc.h"
#include "cc/checkpoint/block_writer.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/table_config_codec.h"

namespace persia {
namespace {

// Large enough for the device, small enough to stay in a cache.
constexpr size_t kRowsBlockBytes = size_t{1} << 20;

class ShardWriter {
 public:
  ShardWriter(std::unique_ptr<WritableFile> file, ShardProgress* progress)
      : blocks_(std::move(file)), progress_(*progress) {}

  Status Write(const ShardHeader& header, const std::vector<SavedTable>& tables,
               const std::vector<ClientWindow>& clients) {
    PERSIA_RETURN_IF_ERROR(WriteHeader(header));
    for (const SavedTable& table : tables) {
      PERSIA_RETURN_IF_ERROR(WriteTable(table));
      PERSIA_RETURN_IF_ERROR(WriteRows(table));
    }
    PERSIA_RETURN_IF_ERROR(WriteClients(clients));
    ByteWriter end;
    end.U64(rows_);
    PERSIA_RETURN_IF_ERROR(Put(BlockType::kEnd, end.Take()));
    return blocks_.Close();
  }

 private:
  Status Put(BlockType type, const std::vector<uint8_t>& body) {
    return blocks_.Write(type, {body});
  }

  Status WriteHeader(const ShardHeader& header) {
    ByteWriter body;
    body.U32(kCheckpointMagic);
    body.U32(kCheckpointVersion);
    body.U64(header.save_id);
    body.U32(header.shard_index);
    body.U32(header.shard_count);
    return Put(BlockType::kFile, body.Take());
  }

  Status WriteTable(const SavedTable& table) {
    ByteWriter body;
    body.U32(static_cast<uint32_t>(table.layout.row_bytes));
    body.U32(static_cast<uint32_t>(table.layout.use_offset));
    body.U32(static_cast<uint32_t>(table.layout.state_offset));
    body.U32(table.time);
    WriteTableConfig(table.config, &body);
    return Put(BlockType::kTable, body.Take());
  }

  Status WriteRows(const SavedTable& table) {
    const size_t each = table.layout.row_bytes + sizeof(int64_t);
    const size_t count = std::max<size_t>(1, kRowsBlockBytes / each);
    RawRows rows;
    for (bool more = true; more;) {
      if (progress_.cancelled) {
        return Status(Code::kCancelled, "the save was cancelled");
      }
      rows.clear();
      auto read = table.rows->Read(count, &rows);
      if (!read.ok()) return read.status();
      more = *read;
      if (!rows.ids.empty()) PERSIA_RETURN_IF_ERROR(WriteRows(rows));
    }
    return Status();
  }

  Status WriteRows(const RawRows& rows) {
    ByteWriter count;
    count.U64(rows.ids.size());
    const auto bytes = [](const auto& values) {
      return ConstBytes(reinterpret_cast<const uint8_t*>(values.data()),
                        values.size() * sizeof(values[0]));
    };
    const std::vector<uint8_t> head = count.Take();
    PERSIA_RETURN_IF_ERROR(blocks_.Write(
        BlockType::kRows, {head, bytes(rows.ids), bytes(rows.bytes)}));
    rows_ += rows.ids.size();
    progress_.rows = rows_;
    progress_.bytes = blocks_.bytes();
    return Status();
  }

  Status WriteClients(const std::vector<ClientWindow>& clients) {
    ByteWriter body;
    body.U64(clients.size());
    for (const ClientWindow& client : clients) {
      body.U64(client.client);
      body.U64(client.highest);
      for (const uint64_t word : client.applied) body.U64(word);
    }
    return Put(BlockType::kClients, body.Take());
  }

  BlockWriter blocks_;
  ShardProgress& progress_;
  uint64_t rows_ = 0;
};

}  // namespace

Status WriteShard(FileSystem* files, const std::string& path,
                  const ShardHeader& header,
                  const std::vector<SavedTable>& tables,
                  const std::vector<ClientWindow>& clients,
                  ShardProgress* progress) {
  return CatchBadAlloc([&]() -> Status {
    auto file = files->Create(path);
    if (!file.ok()) return file.status();
    return ShardWriter(std::move(*file), progress)
        .Write(header, tables, clients);
  });
}

}  // namespace persia
