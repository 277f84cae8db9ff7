#include <gtest/gtest.h>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

CheckpointRequest Request() {
  CheckpointRequest request;
  request.action = CheckpointAction::kCommit;
  request.save_id = 77;
  request.parent_id = 66;
  request.generation = 88;
  request.folder = "a/folder";
  request.files = {"one", "", "three"};
  return request;
}

TEST(CheckpointMessage, HasTheseBytes) {
  ExpectBytes(Request(),
              "0600000000000000\n4d00000000000000\n"
              "4200000000000000\n5800000000000000\n08000000612f666f\n"
              "6c64657200000000\n0300000000000000\n030000006f6e6500\n"
              "0000000000000000\n0500000074687265\n6500000000000000");
}

TEST(CheckpointMessage, AnActionThatThereIsNotIsRefused) {
  for (const uint32_t action : {0u, 7u, ~0u}) {
    CheckpointRequest request = Request();
    request.action = static_cast<CheckpointAction>(action);
    EXPECT_EQ(Received(request).code(), Code::kInvalidArgument);
  }
}

TEST(CheckpointReplyMessage, HasTheseBytes) {
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
  ExpectReplyBytes(
      request,
      "0200000000000000\n0100000000000000\n0500000000000000\n"
      "0a00000000000000\ne803000000000000\n2c00000000000000\n"
      "0500000073686172\n6400000000000000\n0000000000000000\n"
      "0800000000000000\n1300000073617665\n642f636b70742d30\n"
      "3030303030303100\n0400000066756c6c\n0000000000000000\n"
      "020000000f000000\n0000000000000000\n0000000000000000\n0000000000000000\n"
      "0000000000000000\n0000000000000000\n0700000064616d61\n"
      "6765640000000000\n0000000000000000\n0000000000000000\n"
      "0000000000000000\n0000000000000000");
}

}  // namespace
}  // namespace persia
