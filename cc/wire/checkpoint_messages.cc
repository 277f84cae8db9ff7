// The messages about checkpoints: Checkpoint and its reply.

#include <utility>

#include "cc/base/byte_reader.h"
#include "cc/wire/frame_writer.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

constexpr size_t kLeastTextBytes = 8;
// Not counting its texts.
constexpr size_t kProgressBytes = 4 * sizeof(uint32_t) + 4 * sizeof(uint64_t);
constexpr size_t kProgressTexts = 4;

void WriteTexts(const std::vector<std::string>& texts, FrameWriter* writer) {
  writer->U32(static_cast<uint32_t>(texts.size()));
  writer->U32(0);
  for (const std::string& text : texts) writer->Text(text);
}

std::vector<std::string> ReadTexts(ByteReader* reader) {
  const uint32_t count = reader->Count(kLeastTextBytes);
  reader->Zero32();
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < count && !reader->failed(); ++i) {
    texts.push_back(reader->Text());
  }
  return texts;
}

void WriteContents(Span<const uint8_t> contents, FrameWriter* writer) {
  writer->U64(contents.size());
  writer->Array(contents);
}

std::vector<uint8_t> ReadContents(ByteReader* reader) {
  const auto contents = reader->Array<uint8_t>(reader->U64());
  return std::vector<uint8_t>(contents.begin(), contents.end());
}

void WriteProgress(const CheckpointProgress& progress, FrameWriter* writer) {
  writer->U32(static_cast<uint32_t>(progress.state));
  writer->U32(static_cast<uint32_t>(progress.outcome.code()));
  writer->U64(progress.rows);
  writer->U64(progress.total_rows);
  writer->U64(progress.bytes);
  writer->U64(progress.base_id);
  writer->Text(progress.file);
  writer->Text(progress.outcome.message());
  writer->U32(static_cast<uint32_t>(progress.base_outcome.code()));
  writer->U32(0);
  writer->Text(progress.needed);
  writer->Text(progress.base_outcome.message());
}

CheckpointProgress ReadProgress(ByteReader* reader) {
  CheckpointProgress progress;
  progress.state = static_cast<CheckpointProgress::State>(reader->U32());
  const auto code = static_cast<Code>(reader->U32());
  progress.rows = reader->U64();
  progress.total_rows = reader->U64();
  progress.bytes = reader->U64();
  progress.base_id = reader->U64();
  progress.file = reader->Text();
  std::string message = reader->Text();
  if (code != Code::kOk) progress.outcome = Status(code, std::move(message));
  const auto base_code = static_cast<Code>(reader->U32());
  reader->Zero32();
  progress.needed = reader->Text();
  message = reader->Text();
  if (base_code != Code::kOk) {
    progress.base_outcome = Status(base_code, std::move(message));
  }
  return progress;
}

}  // namespace

OutFrame EncodeCheckpoint(uint64_t request_id, uint32_t shard_index,
                          uint32_t shard_count,
                          const CheckpointRequest& request) {
  FrameWriter writer;
  writer.U32(static_cast<uint32_t>(request.action));
  writer.U32(shard_index);
  writer.U32(shard_count);
  writer.U32(0);
  writer.U64(request.save_id);
  writer.U64(request.parent_id);
  writer.U64(request.generation);
  writer.Text(request.folder);
  WriteTexts(request.files, &writer);
  WriteContents(request.contents, &writer);
  return writer.Seal(MessageType::kCheckpoint, request_id);
}

Status DecodeCheckpoint(ConstBytes body, CheckpointRequest* request) {
  ByteReader reader(body);
  const uint32_t action = reader.U32();
  request->action = static_cast<CheckpointAction>(action);
  request->shard_index = reader.U32();
  request->shard_count = reader.U32();
  reader.Zero32();
  request->save_id = reader.U64();
  request->parent_id = reader.U64();
  request->generation = reader.U64();
  request->folder = reader.Text();
  request->files = ReadTexts(&reader);
  request->contents = ReadContents(&reader);
  PERSIA_RETURN_IF_ERROR(reader.Finish("Checkpoint"));
  if (action < static_cast<uint32_t>(CheckpointAction::kSave) ||
      action > static_cast<uint32_t>(kLastCheckpointAction)) {
    return InvalidArgument("there is no checkpoint action ", action);
  }
  if (request->shard_index >= request->shard_count) {
    return InvalidArgument("there is no shard ", request->shard_index, " of ",
                           request->shard_count);
  }
  if (request->contents.size() > CheckpointRequest::kMaxFileBytes) {
    return InvalidArgument("contents must be at most ",
                           CheckpointRequest::kMaxFileBytes,
                           " bytes, received ", request->contents.size());
  }
  return Status();
}

OutFrame EncodeCheckpointReply(uint64_t request_id,
                               const CheckpointRequest& request) {
  FrameWriter writer;
  writer.U32(static_cast<uint32_t>(request.shards.size()));
  writer.U32(0);
  for (const CheckpointProgress& shard : request.shards) {
    WriteProgress(shard, &writer);
  }
  WriteTexts(request.names, &writer);
  // Contents that the request brought to be written are not sent back.
  const bool was_read = request.action == CheckpointAction::kReadFile;
  WriteContents(
      was_read ? Span<const uint8_t>(request.contents) : Span<const uint8_t>(),
      &writer);
  return writer.Seal(MessageType::kCheckpointReply, request_id);
}

Status DecodeCheckpointReply(ConstBytes body, CheckpointRequest* request) {
  ByteReader reader(body);
  const uint32_t count =
      reader.Count(kProgressBytes + kProgressTexts * kLeastTextBytes);
  reader.Zero32();
  request->shards.clear();
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) {
    request->shards.push_back(ReadProgress(&reader));
  }
  request->names = ReadTexts(&reader);
  request->contents = ReadContents(&reader);
  return reader.Finish("CheckpointReply");
}

}  // namespace persia
