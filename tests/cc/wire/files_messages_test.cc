// Files and its reply.

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

FilesRequest SomeRequest() {
  FilesRequest request;
  request.action = FilesAction::kWrite;
  request.folder = "a/folder";
  request.files = {"one", "", "three"};
  request.contents = {1, 2, 3};
  return request;
}

TEST(FilesMessagesTest, FilesHasTheseBytes) {
  ExpectBytes(SomeRequest(),
              "0100000000000000\n08000000612f666f\n6c64657200000000\n"
              "0300000000000000\n030000006f6e6500\n0000000000000000\n"
              "0500000074687265\n6500000000000000\n"
              "0300000000000000\n010203");
}

TEST(FilesMessagesTest, FilesReplyHasTheseBytes) {
  FilesRequest request;
  request.names = {"x", "yy"};
  request.contents = {1, 2};
  ExpectReplyBytes(request,
                   "0200000000000000\n0100000078000000\n0200000079790000\n"
                   "0200000000000000\n0102");
}

TEST(FilesMessagesTest, AnActionThatThereIsNotIsRefused) {
  for (const uint32_t action : {0u, 5u, ~0u}) {
    FilesRequest request = SomeRequest();
    request.action = static_cast<FilesAction>(action);
    EXPECT_EQ(Received(request).code(), Code::kInvalidArgument);
  }
}

TEST(FilesMessagesTest, LargeContentsAreRefused) {
  FilesRequest request = SomeRequest();
  request.contents.resize(FilesRequest::kMostBytes + 1);
  EXPECT_EQ(Received(request).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
