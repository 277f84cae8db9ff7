#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cc/files/file_system.h"
#include "tests/cc/files/temporary_folder.h"

namespace persia {
namespace {

class LocalFilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    auto file = files_->Create(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    ASSERT_TRUE((*file)->Append({bytes, text.size()}).ok());
    ASSERT_TRUE((*file)->Sync().ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  std::string Read(const std::string& path) {
    auto file = files_->Open(path);
    EXPECT_TRUE(file.ok()) << file.status().message();
    std::vector<uint8_t> bytes(100);
    const auto count = (*file)->Read(bytes);
    EXPECT_TRUE(count.ok());
    return std::string(bytes.begin(), bytes.begin() + *count);
  }

  FileSystem* const files_ = LocalFiles();
  const TemporaryFolder folder_;
};

TEST_F(LocalFilesTest, ReadsWhatWasWritten) {
  Write(folder_ / "a", "some text");
  EXPECT_EQ(Read(folder_ / "a"), "some text");
  EXPECT_EQ(*files_->Size(folder_ / "a"), 9u);
}

TEST_F(LocalFilesTest, ReadsOnFromWhereItWas) {
  Write(folder_ / "a", "12345");
  auto file = files_->Open(folder_ / "a");
  ASSERT_TRUE(file.ok());
  std::vector<uint8_t> bytes(3);
  EXPECT_EQ(*(*file)->Read(bytes), 3u);
  EXPECT_EQ(*(*file)->Read(bytes), 2u);
  EXPECT_EQ(bytes[0], '4');
  EXPECT_EQ(*(*file)->Read(bytes), 0u);
}

TEST_F(LocalFilesTest, CreatingReplacesAFile) {
  Write(folder_ / "a", "a long text");
  Write(folder_ / "a", "short");
  EXPECT_EQ(Read(folder_ / "a"), "short");
}

TEST_F(LocalFilesTest, RenamingReplacesAFile) {
  Write(folder_ / "a", "new");
  Write(folder_ / "b", "old");
  ASSERT_TRUE(files_->Rename(folder_ / "a", folder_ / "b").ok());
  EXPECT_EQ(Read(folder_ / "b"), "new");
  EXPECT_EQ(*files_->List(folder_.path()), std::vector<std::string>{"b"});
}

TEST_F(LocalFilesTest, AWholeFileReplacesAnother) {
  Write(folder_ / "a", "what was there");
  const std::vector<uint8_t> bytes = {'n', 'e', 'w'};
  ASSERT_TRUE(files_->WriteWhole(folder_ / "a", bytes).ok());
  EXPECT_EQ(Read(folder_ / "a"), "new");
  EXPECT_EQ(*files_->List(folder_.path()), std::vector<std::string>{"a"});
}

TEST_F(LocalFilesTest, AWholeFileThatCannotBeWrittenReplacesNothing) {
  Write(folder_ / "a", "what was there");
  // WriteWhole writes to this path first.
  std::filesystem::create_symlink("/dev/full", folder_ / "a.tmp");
  const std::vector<uint8_t> bytes(10);
  EXPECT_EQ(files_->WriteWhole(folder_ / "a", bytes).code(),
            Code::kResourceExhausted);
  EXPECT_EQ(Read(folder_ / "a"), "what was there");
}

TEST_F(LocalFilesTest, SyncsWhatAnotherWrote) {
  Write(folder_ / "a", "some text");
  EXPECT_TRUE(files_->Sync(folder_ / "a").ok());
  EXPECT_EQ(Read(folder_ / "a"), "some text");
}

TEST_F(LocalFilesTest, ListsNamesInOrder) {
  for (const char* name : {"c", "a", "b"}) Write(folder_ / name, "");
  EXPECT_EQ(*files_->List(folder_.path()),
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(LocalFilesTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(files_->Open(folder_ / "a").status().code(), Code::kNotFound);
  EXPECT_EQ(files_->Size(folder_ / "a").status().code(), Code::kNotFound);
  EXPECT_EQ(files_->Sync(folder_ / "a").code(), Code::kNotFound);
  EXPECT_EQ(files_->Rename(folder_ / "a", folder_ / "b").code(),
            Code::kNotFound);
  EXPECT_TRUE(files_->Remove(folder_ / "a").ok());
  EXPECT_TRUE(files_->RemoveFolder(folder_ / "a").ok());
  EXPECT_TRUE(files_->List(folder_ / "a")->empty());
}

TEST_F(LocalFilesTest, MakesFoldersWithinFolders) {
  const std::string deep = folder_ / "a/b/c";
  ASSERT_TRUE(files_->MakeFolder(deep).ok());
  ASSERT_TRUE(files_->MakeFolder(deep).ok());
  EXPECT_TRUE(std::filesystem::is_directory(deep));
  EXPECT_EQ(files_->RemoveFolder(folder_ / "a").code(), Code::kAlreadyExists);
  EXPECT_TRUE(files_->RemoveFolder(deep).ok());
  EXPECT_FALSE(std::filesystem::exists(deep));
}

TEST_F(LocalFilesTest, AFullDeviceIsAnError) {
  auto file = files_->Create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<uint8_t> bytes(10);
  const Status status = (*file)->Append(bytes);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("cannot write /dev/full: No space left"),
            std::string::npos)
      << status.message();
}

TEST_F(LocalFilesTest, AFileWhereAFolderShouldBeIsAnError) {
  Write(folder_ / "a", "");
  EXPECT_FALSE(files_->MakeFolder(folder_ / "a/b").ok());
  EXPECT_FALSE(files_->List(folder_ / "a").ok());
}

}  // namespace
}  // namespace persia
