#include "cc/files/all_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/files/temporary_folder.h"

namespace persia {
namespace {

// Writes down what it is asked, and fails.
class AskedFiles : public FileSystem {
 public:
  std::string asked;

  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override {
    return Asked("create", path);
  }
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    return Asked("open", path);
  }
  Result<uint64_t> Size(const std::string& path) override {
    return Asked("size", path);
  }
  Status WriteWhole(const std::string& path, Span<const uint8_t>) override {
    return Asked("write", path);
  }
  Status Sync(const std::string& path) override { return Asked("sync", path); }
  Status Rename(const std::string& from, const std::string& to) override {
    return Asked("rename", from + " " + to);
  }
  Status Remove(const std::string& path) override {
    return Asked("remove", path);
  }
  Result<std::vector<std::string>> List(const std::string& folder) override {
    return Asked("list", folder);
  }
  Status MakeFolder(const std::string& folder) override {
    return Asked("make", folder);
  }
  Status RemoveFolder(const std::string& folder) override {
    return Asked("rmdir", folder);
  }

 private:
  Status Asked(const std::string& what, const std::string& path) {
    asked = what + " " + path;
    return Status(Code::kUnavailable, "asked");
  }
};

class AllFilesTest : public ::testing::Test {
 protected:
  ~AllFilesTest() override { SetUrlFiles(nullptr); }

  AskedFiles urls_;
  const TemporaryFolder folder_;
};

TEST_F(AllFilesTest, EveryCallReachesTheFilesOfUrls) {
  SetUrlFiles(&urls_);
  const std::string url = "s3://bucket/a";
  const std::vector<uint8_t> bytes(1);
  const auto expect = [&](const Status& status, const std::string& asked) {
    EXPECT_EQ(status.message(), "asked");
    EXPECT_EQ(urls_.asked, asked);
  };
  expect(AllFiles()->Create(url).status(), "create " + url);
  expect(AllFiles()->Open(url).status(), "open " + url);
  expect(AllFiles()->Size(url).status(), "size " + url);
  expect(AllFiles()->WriteWhole(url, bytes), "write " + url);
  expect(AllFiles()->Sync(url), "sync " + url);
  expect(AllFiles()->Rename(url, url + "b"), "rename " + url + " " + url + "b");
  expect(AllFiles()->Remove(url), "remove " + url);
  expect(AllFiles()->List(url).status(), "list " + url);
  expect(AllFiles()->MakeFolder(url), "make " + url);
  expect(AllFiles()->RemoveFolder(url), "rmdir " + url);
}

TEST_F(AllFilesTest, PathsOfThisMachineDoNot) {
  SetUrlFiles(&urls_);
  ASSERT_TRUE(AllFiles()->MakeFolder(folder_ / "a").ok());
  ASSERT_TRUE(AllFiles()->WriteWhole(folder_ / "a/b", {}).ok());
  EXPECT_EQ(*AllFiles()->List(folder_ / "a"), std::vector<std::string>{"b"});
  EXPECT_EQ(urls_.asked, "");
}

TEST_F(AllFilesTest, BadUrlsReachNobody) {
  SetUrlFiles(&urls_);
  for (const char* url : {"s3://bucket/../a", "s3://me:secret@bucket/a"}) {
    EXPECT_EQ(AllFiles()->Open(url).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(AllFiles()->Remove(url).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(urls_.asked, "");
}

TEST_F(AllFilesTest, NothingIsRenamedBetweenFileSystems) {
  SetUrlFiles(&urls_);
  EXPECT_EQ(AllFiles()->Rename(folder_ / "a", "s3://bucket/a").code(),
            Code::kInvalidArgument);
  EXPECT_EQ(AllFiles()->Rename("s3://bucket/a", folder_ / "a").code(),
            Code::kInvalidArgument);
  EXPECT_EQ(urls_.asked, "");
}

TEST_F(AllFilesTest, WithoutFilesOfUrlsItSaysSo) {
  const Status status = AllFiles()->Open("s3://bucket/a").status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("s3://bucket/a"), std::string::npos);
}

}  // namespace
}  // namespace persia
