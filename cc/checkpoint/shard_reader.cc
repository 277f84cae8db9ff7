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
      : blocks_(std::move(file)), visitor_(*visitor), progress_(*progress) {}

  uint64_t position() const { return blocks_.position(); }

  Status Read() {
    BlockType type = BlockType::kEnd;
    ConstBytes body;
    PERSIA_RETURN_IF_ERROR(blocks_.Next(&type, &body));
    if (type != BlockType::kFile) return Misplaced("begins with");
    PERSIA_RETURN_IF_ERROR(ReadHeader(body));
    while (true) {
      if (progress_.cancelled) {
        return Status(Code::kCancelled, "the restore was cancelled");
      }
      PERSIA_RETURN_IF_ERROR(blocks_.Next(&type, &body));
      if (type == BlockType::kEnd) return ReadEnd(body);
      PERSIA_RETURN_IF_ERROR(ReadPart(type, body));
      progress_.bytes = blocks_.position();
    }
  }

 private:
  static Status Misplaced(const char* what) {
    return Status(Code::kDataLoss,
                  Concat("the file ", what, " a block that may not be there"));
  }

  Status ReadPart(BlockType type, ConstBytes body) {
    if (has_clients_) return Misplaced("goes on after its clients with");
    switch (type) {
      case BlockType::kTable:
        return ReadTable(body);
      case BlockType::kRows:
        return has_table_ ? ReadRows(body) : Misplaced("has before any table");
      case BlockType::kClients:
        return ReadClients(body);
      case BlockType::kFile:
      case BlockType::kEnd:
        break;
    }
    return Misplaced("has in its middle");
  }

  Status ReadHeader(ConstBytes body) {
    ByteReader reader(body);
    const uint32_t magic = reader.U32();
    const uint32_t version = reader.U32();
    if (magic != kCheckpointMagic) {
      return Status(Code::kDataLoss, "it is no file of a checkpoint");
    }
    if (version != kCheckpointVersion) {
      return Status(Code::kFailedPrecondition,
                    Concat("it has format version ", version,
                           ", this program reads ", kCheckpointVersion));
    }
    ShardHeader header;
    header.save_id = reader.U64();
    header.shard_index = reader.U32();
    header.shard_count = reader.U32();
    PERSIA_RETURN_IF_ERROR(reader.Finish("file header"));
    if (header.shard_index >= header.shard_count) {
      return Status(Code::kDataLoss,
                    Concat("there is no shard ", header.shard_index, " of ",
                           header.shard_count));
    }
    return visitor_.OnHeader(header);
  }

  Status ReadTable(ConstBytes body) {
    ByteReader reader(body);
    layout_.row_bytes = reader.U32();
    layout_.use_offset = reader.U32();
    layout_.state_offset = reader.U32();
    const uint32_t time = reader.U32();
    TableConfig config;
    const Status read = ReadTableConfig(&reader, &config);
    PERSIA_RETURN_IF_ERROR(reader.Finish("table"));
    PERSIA_RETURN_IF_ERROR(read);
    const Result<RowLayout> expected = LayoutOf(config);
    if (!expected.ok()) return expected.status();
    if (!AreSame(layout_, *expected)) {
      return Status(Code::kDataLoss,
                    Concat("the rows of table \"", config.name,
                           "\" have a layout that its settings do not give"));
    }
    has_table_ = true;
    return visitor_.OnTable(config, time);
  }

  Status ReadRows(ConstBytes body) {
    ByteReader reader(body);
    const uint64_t count = reader.U64();
    const auto ids = reader.Array<int64_t>(count);
    // The count is one that the body has room for, or the reader has failed.
    const auto rows = reader.Array<std::byte>(ids.size() * layout_.row_bytes);
    PERSIA_RETURN_IF_ERROR(reader.Finish("block of rows"));
    rows_ += count;
    progress_.rows = rows_;
    return visitor_.OnRows(ids, rows);
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
    return visitor_.OnClients(clients);
  }

  Status ReadEnd(ConstBytes body) {
    ByteReader reader(body);
    const uint64_t rows = reader.U64();
    PERSIA_RETURN_IF_ERROR(reader.Finish("end"));
    if (rows != rows_ || !has_clients_) {
      return Status(Code::kDataLoss,
                    Concat("the file has ", rows_, " rows, and says ", rows));
    }
    const Result<bool> at_end = blocks_.AtEnd();
    if (!at_end.ok()) return at_end.status();
    if (*at_end) return Status();
    return Status(Code::kDataLoss, "bytes follow the end");
  }

  BlockReader blocks_;
  ShardVisitor& visitor_;
  ShardProgress& progress_;
  RowLayout layout_{};
  bool has_table_ = false;
  bool has_clients_ = false;
  uint64_t rows_ = 0;
};

}  // namespace

Status ReadShard(FileSystem* files, const std::string& path,
                 ShardVisitor* visitor, ShardProgress* progress) {
  return CatchBadAlloc([&]() -> Status {
    auto file = files->Open(path);
    if (!file.ok()) return file.status();
    ShardReader reader(std::move(*file), visitor, progress);
    const Status status = reader.Read();
    if (status.ok()) return status;
    return Status(status.code(),
                  Concat(path, ", block at byte ", reader.position(), ": ",
                         status.message()));
  });
}

}  // namespace persia
