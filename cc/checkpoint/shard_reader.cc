#include <string>
#include <utility>

#include "cc/base/byte_reader.h"
#include "cc/base/catch_bad_alloc.h"
#include "cc/checkpoint/block_reader.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/table_config_codec.h"

namespace persia {
namespace {

bool AreSame(const RowLayout& a, const RowLayout& b) {
  return a.row_bytes == b.row_bytes && a.use_offset == b.use_offset &&
         a.state_offset == b.state_offset;
}

class ShardReader {
 public:
  ShardReader(std::unique_ptr<ReadableFile> file, ShardVisitor* visitor,
              ShardProgress* progress)
      : blocks_(std::move(file)), visitor_(visitor), progress_(progress) {}

  uint64_t position() const { return blocks_.position(); }

  Status ReadHeader(ShardHeader* header) {
    BlockType type = BlockType::kEnd;
    ConstBytes body;
    PERSIA_RETURN_IF_ERROR(blocks_.Next(&type, &body));
    if (type != BlockType::kFile) {
      return Misplaced("its first block is not a header");
    }
    return ReadHeader(body, header);
  }

  Status Read() {
    ShardHeader header;
    PERSIA_RETURN_IF_ERROR(ReadHeader(&header));
    is_increment_ = header.parent_id != 0;
    PERSIA_RETURN_IF_ERROR(visitor_->OnHeader(header));
    BlockType type = BlockType::kEnd;
    ConstBytes body;
    while (true) {
      if (progress_->cancelled) {
        return Status(Code::kCancelled, "the restore was cancelled");
      }
      PERSIA_RETURN_IF_ERROR(blocks_.Next(&type, &body));
      if (type == BlockType::kEnd) return ReadEnd(body);
      PERSIA_RETURN_IF_ERROR(ReadPart(type, body));
      progress_->bytes += blocks_.size();
    }
  }

 private:
  static Status Misplaced(const char* what) {
    return Status(Code::kDataLoss, Concat("the file is damaged: ", what));
  }

  Status ReadPart(BlockType type, ConstBytes body) {
    if (has_clients_) {
      return Misplaced("only the end block may follow the block of clients");
    }
    switch (type) {
      case BlockType::kTable:
        return ReadTable(body);
      case BlockType::kErased:
        if (takes_erased_) return ReadErased(body);
        return Misplaced("erased ids may come only before changed rows");
      case BlockType::kRows:
        return has_table_ ? ReadRows(body)
                          : Misplaced("rows precede the first table");
      case BlockType::kClients:
        return ReadClients(body);
      case BlockType::kFile:
      case BlockType::kEnd:
        break;
    }
    return Misplaced("it has a second header");
  }

  static Status ReadHeader(ConstBytes body, ShardHeader* header) {
    ByteReader reader(body);
    const uint32_t magic = reader.U32();
    const uint32_t version = reader.U32();
    if (magic != kCheckpointMagic) {
      return Status(Code::kDataLoss, "it is not a checkpoint file");
    }
    if (version != kCheckpointVersion) {
      return Status(
          Code::kFailedPrecondition,
          Concat("it has format version ", version,
                 ", but this program reads version ", kCheckpointVersion,
                 ": use the persia_tf that wrote it"));
    }
    header->save_id = reader.U64();
    header->parent_id = reader.U64();
    header->member = reader.U64();
    const auto words = reader.Array<uint64_t>(reader.U64());
    PERSIA_RETURN_IF_ERROR(reader.Finish("file header"));
    const auto slots = SlotsFromWords({words.begin(), words.end()});
    if (!slots.ok()) return slots.status();
    header->slots = *slots;
    return Status();
  }

  Status ReadTable(ConstBytes body) {
    ByteReader reader(body);
    TableHead table;
    table.layout.row_bytes = reader.U32();
    table.layout.use_offset = reader.U32();
    table.layout.state_offset = reader.U32();
    table.time = reader.U32();
    const uint32_t scope = reader.U32();
    table.scope = static_cast<SaveScope>(scope);
    const Status read = ReadTableConfig(&reader, &table.config);
    PERSIA_RETURN_IF_ERROR(reader.Finish("table"));
    PERSIA_RETURN_IF_ERROR(read);
    const Result<RowLayout> expected = LayoutOf(table.config);
    if (!expected.ok()) return expected.status();
    if (!AreSame(table.layout, *expected)) {
      return Status(
          Code::kDataLoss,
          Concat("the layout of the rows of table \"", table.config.name,
                 "\" does not match the table's settings"));
    }
    const bool is_changes = table.scope == SaveScope::kChanges;
    if (scope > static_cast<uint32_t>(SaveScope::kChanges) ||
        (is_changes && !is_increment_)) {
      return Status(Code::kDataLoss,
                    Concat("table \"", table.config.name, "\" has the scope ",
                           scope, ", which is not allowed in this file"));
    }
    has_table_ = true;
    takes_erased_ = is_changes;
    row_bytes_ = table.layout.row_bytes;
    return visitor_->OnTable(table);
  }

  Status ReadErased(ConstBytes body) {
    ByteReader reader(body);
    const uint64_t count = reader.U64();
    const auto ids = reader.Array<int64_t>(count);
    PERSIA_RETURN_IF_ERROR(reader.Finish("block of erased ids"));
    erased_ += count;
    return visitor_->OnErased(ids);
  }

  Status ReadRows(ConstBytes body) {
    ByteReader reader(body);
    const uint64_t count = reader.U64();
    const auto ids = reader.Array<int64_t>(count);
    // If the body is too short for `count` ids, `ids` is empty and the reader
    // has failed, so this product cannot overflow.
    const auto rows = reader.Array<std::byte>(ids.size() * row_bytes_);
    PERSIA_RETURN_IF_ERROR(reader.Finish("block of rows"));
    takes_erased_ = false;
    rows_ += count;
    progress_->rows += count;
    return visitor_->OnRows(ids, rows);
  }

  Status ReadClients(ConstBytes body) {
    constexpr size_t kClientBytes =
        2 * sizeof(uint64_t) + sizeof(ClientWindow::applied);
    ByteReader reader(body);
    const uint64_t count = reader.U64();
    std::vector<ClientWindow> clients;
    if (count == (body.size() - sizeof(count)) / kClientBytes) {
      clients.resize(count);
    }
    for (ClientWindow& client : clients) {
      client.client = reader.U64();
      client.highest = reader.U64();
      for (uint64_t& word : client.applied) word = reader.U64();
    }
    PERSIA_RETURN_IF_ERROR(reader.Finish("block of clients"));
    has_clients_ = true;
    return visitor_->OnClients(clients);
  }

  Status ReadEnd(ConstBytes body) {
    ByteReader reader(body);
    const uint64_t rows = reader.U64();
    const uint64_t erased = reader.U64();
    PERSIA_RETURN_IF_ERROR(reader.Finish("end"));
    if (rows != rows_ || erased != erased_ || !has_clients_) {
      return Status(
          Code::kDataLoss,
          Concat("the file has ", rows_, " rows and ", erased_,
                 " erased ids, but its end says ", rows, " and ", erased));
    }
    const Result<bool> at_end = blocks_.AtEnd();
    if (!at_end.ok()) return at_end.status();
    if (*at_end) return Status();
    return Status(Code::kDataLoss, "bytes follow the file's end block");
  }

  BlockReader blocks_;
  // Null if the caller reads only the file's header.
  ShardVisitor* const visitor_;
  ShardProgress* const progress_;
  bool is_increment_ = false;
  size_t row_bytes_ = 0;  // The size of a row in the last table.
  bool has_table_ = false;
  bool takes_erased_ = false;
  bool has_clients_ = false;
  uint64_t rows_ = 0;
  uint64_t erased_ = 0;
};

// Adds the file's name and the bad block's offset to an error.
Status Named(const std::string& path, const ShardReader& reader,
             const Status& status) {
  if (status.ok()) return status;
  return Status(status.code(),
                Concat(path, ", block at byte ", reader.position(), ": ",
                       status.message()));
}

}  // namespace

Status ReadShard(FileSystem* files, const std::string& path,
                 ShardVisitor* visitor, ShardProgress* progress) {
  return CatchBadAlloc([&]() -> Status {
    auto file = files->Open(path);
    if (!file.ok()) return file.status();
    ShardReader reader(std::move(*file), visitor, progress);
    return Named(path, reader, reader.Read());
  });
}

Result<ShardHeader> ReadShardHeader(FileSystem* files,
                                    const std::string& path) {
  ShardHeader header;
  const Status status = CatchBadAlloc([&]() -> Status {
    auto file = files->Open(path);
    if (!file.ok()) return file.status();
    ShardReader reader(std::move(*file), nullptr, nullptr);
    return Named(path, reader, reader.ReadHeader(&header));
  });
  if (!status.ok()) return status;
  return header;
}

}  // namespace persia
