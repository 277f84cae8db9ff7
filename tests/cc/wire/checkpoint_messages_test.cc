#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

// A frame's body, in one piece.
std::vector<uint8_t> BodyOf(const OutFrame& frame) {
  const std::vector<uint8_t> bytes = FrameBytes(frame);
  return {bytes.begin() + kFrameHeaderBytes, bytes.end()};
}

CheckpointRequest Request() {
  CheckpointRequest request;
  request.action = CheckpointAction::kWriteFile;
  request.save_id = 77;
  request.parent_id = 66;
  request.generation = 88;
  request.folder = "a/folder";
  request.files = {"one", "", "three"};
  request.contents = {1, 2, 3};
  return request;
}

TEST(CheckpointMessage, BringsTheRequestToItsShard) {
  CheckpointRequest decoded;
  const Status status =
      DecodeCheckpoint(BodyOf(EncodeCheckpoint(5, 2, 3, Request())), &decoded);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(decoded.action, CheckpointAction::kWriteFile);
  EXPECT_EQ(decoded.shard_index, 2u);
  EXPECT_EQ(decoded.shard_count, 3u);
  EXPECT_EQ(decoded.save_id, 77u);
  EXPECT_EQ(decoded.parent_id, 66u);
  EXPECT_EQ(decoded.generation, 88u);
  EXPECT_EQ(decoded.folder, "a/folder");
  EXPECT_EQ(decoded.files, Request().files);
  EXPECT_EQ(decoded.contents, Request().contents);
}

TEST(CheckpointMessage, EveryCutIsRefused) {
  const std::vector<uint8_t> body =
      BodyOf(EncodeCheckpoint(5, 2, 3, Request()));
  for (size_t size = 0; size < body.size(); ++size) {
    CheckpointRequest decoded;
    EXPECT_EQ(DecodeCheckpoint({body.data(), size}, &decoded).code(),
              Code::kDataLoss)
        << size;
  }
}

TEST(CheckpointMessage, AnActionThatThereIsNotIsRefused) {
  for (const uint32_t action : {0u, 11u, ~0u}) {
    CheckpointRequest request = Request();
    request.action = static_cast<CheckpointAction>(action);
    CheckpointRequest decoded;
    EXPECT_EQ(
        DecodeCheckpoint(BodyOf(EncodeCheckpoint(5, 0, 1, request)), &decoded)
            .code(),
        Code::kInvalidArgument);
  }
}

TEST(CheckpointMessage, AShardThatThereIsNotIsRefused) {
  CheckpointRequest decoded;
  EXPECT_EQ(
      DecodeCheckpoint(BodyOf(EncodeCheckpoint(5, 3, 3, Request())), &decoded)
          .code(),
      Code::kInvalidArgument);
}

TEST(CheckpointMessage, LargeContentsAreRefused) {
  CheckpointRequest request = Request();
  request.contents.resize(CheckpointRequest::kMaxFileBytes + 1);
  CheckpointRequest decoded;
  EXPECT_EQ(
      DecodeCheckpoint(BodyOf(EncodeCheckpoint(5, 0, 1, request)), &decoded)
          .code(),
      Code::kInvalidArgument);
}

TEST(CheckpointReplyMessage, BringsProgressAndNames) {
  CheckpointRequest request;
  request.shards.resize(2);
  request.shards[0].state = CheckpointProgress::State::kRunning;
  request.shards[0].rows = 5;
  request.shards[0].total_rows = 10;
  request.shards[0].bytes = 1000;
  request.shards[0].base_id = 44;
  request.shards[0].file = "shard";
  request.shards[0].needed = "saved/ckpt-00000001";
  request.shards[0].base_outcome = Status(Code::kResourceExhausted, "full");
  request.shards[1].state = CheckpointProgress::State::kEnded;
  request.shards[1].outcome = Status(Code::kDataLoss, "damaged");
  request.names = {"x", "yy"};
  CheckpointRequest decoded;
  const Status status = DecodeCheckpointReply(
      BodyOf(EncodeCheckpointReply(5, request)), &decoded);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(decoded.shards.size(), 2u);
  EXPECT_EQ(decoded.shards[0].state, CheckpointProgress::State::kRunning);
  EXPECT_TRUE(decoded.shards[0].outcome.ok());
  EXPECT_EQ(decoded.shards[0].rows, 5u);
  EXPECT_EQ(decoded.shards[0].total_rows, 10u);
  EXPECT_EQ(decoded.shards[0].bytes, 1000u);
  EXPECT_EQ(decoded.shards[0].base_id, 44u);
  EXPECT_EQ(decoded.shards[0].file, "shard");
  EXPECT_EQ(decoded.shards[0].needed, "saved/ckpt-00000001");
  EXPECT_EQ(decoded.shards[0].base_outcome.code(), Code::kResourceExhausted);
  EXPECT_EQ(decoded.shards[0].base_outcome.message(), "full");
  EXPECT_EQ(decoded.shards[1].outcome.code(), Code::kDataLoss);
  EXPECT_EQ(decoded.shards[1].outcome.message(), "damaged");
  EXPECT_EQ(decoded.shards[1].needed, "");
  EXPECT_TRUE(decoded.shards[1].base_outcome.ok());
  EXPECT_EQ(decoded.names, request.names);
}

TEST(CheckpointReplyMessage, GivesContentsOnlyOfWhatWasRead) {
  CheckpointRequest request = Request();
  CheckpointRequest decoded;
  ASSERT_TRUE(
      DecodeCheckpointReply(BodyOf(EncodeCheckpointReply(5, request)), &decoded)
          .ok());
  EXPECT_TRUE(decoded.contents.empty());
  request.action = CheckpointAction::kReadFile;
  ASSERT_TRUE(
      DecodeCheckpointReply(BodyOf(EncodeCheckpointReply(5, request)), &decoded)
          .ok());
  EXPECT_EQ(decoded.contents, Request().contents);
}

}  // namespace
}  // namespace persia
