#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/files/all_files.h"
#include "cc/files/file_system.h"
#include "tests/cc/files/temporary_folder.h"

namespace persia {
namespace {

namespace fs = std::filesystem;

class FilesBelowTest : public ::testing::Test {
 protected:
  FilesBelowTest() {
    fs::create_directories(root_ + "/folder");
    fs::create_directories(outside_);
    Put(root_ + "/folder/file", "inside");
    Put(outside_ + "/file", "outside");
  }

  static void Put(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  static std::string TextOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file),
            std::istreambuf_iterator<char>()};
  }

  std::string Read(const std::string& path) {
    auto file = files_->Open(path);
    if (!file.ok()) return file.status().message();
    std::vector<uint8_t> bytes(100);
    const auto count = (*file)->Read(bytes);
    EXPECT_TRUE(count.ok());
    return std::string(bytes.begin(), bytes.begin() + *count);
  }

  // The outcomes of all calls for a path, except the calls that have rules of
  // their own.
  std::vector<Status> AskAll(const std::string& path) {
    return {files_->Create(path).status(),
            files_->CreateLarge(path).status(),
            files_->Open(path).status(),
            files_->Size(path).status(),
            files_->Sync(path),
            files_->List(path).status(),
            files_->MakeFolder(path),
            files_->RemoveFolder(path)};
  }

  void ExpectAllRefused(const std::string& path) {
    int call = 0;
    for (const Status& status : AskAll(path)) {
      EXPECT_EQ(status.code(), Code::kInvalidArgument)
          << path << ", call " << call << ": " << status.message();
      ++call;
    }
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_ / "root";
  const std::string outside_ = folder_ / "outside";
  const std::unique_ptr<FileSystem> files_ = LocalFilesBelow(root_);
};

TEST_F(FilesBelowTest, WhatIsBelowIsReadWrittenAndRemoved) {
  const std::string deep = root_ + "/a/b";
  ASSERT_TRUE(files_->MakeFolder(deep).ok());
  ASSERT_TRUE(files_->WriteWhole(deep + "/c", {}).ok());
  ASSERT_TRUE((*files_->CreateLarge(deep + "/d"))->Finish().ok());
  EXPECT_EQ(*files_->List(deep), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(*files_->Size(root_ + "/folder/file"), 6u);
  EXPECT_EQ(Read(root_ + "/folder/file"), "inside");
  EXPECT_TRUE(files_->Sync(deep + "/c").ok());
  EXPECT_TRUE(files_->Rename(deep + "/c", root_ + "/c").ok());
  EXPECT_TRUE(files_->Remove(root_ + "/c").ok());
  EXPECT_TRUE(files_->Remove(deep + "/d").ok());
  EXPECT_TRUE(files_->RemoveFolder(deep).ok());
  EXPECT_FALSE(fs::exists(deep));
}

TEST_F(FilesBelowTest, WhatIsNotThereIsNotFound) {
  for (const std::string& path : {root_ + "/no", root_ + "/no/file"}) {
    EXPECT_EQ(files_->Open(path).status().code(), Code::kNotFound);
    EXPECT_EQ(files_->Size(path).status().code(), Code::kNotFound);
    EXPECT_EQ(files_->Sync(path).code(), Code::kNotFound);
    EXPECT_EQ(files_->Rename(path, root_ + "/b").code(), Code::kNotFound);
    EXPECT_TRUE(files_->Remove(path).ok());
    EXPECT_TRUE(files_->RemoveFolder(path).ok());
    EXPECT_TRUE(files_->List(path)->empty());
  }
}

TEST_F(FilesBelowTest, TheRootIsMadeWithTheFirstFolderAndStays) {
  fs::remove_all(root_);
  EXPECT_TRUE(files_->List(root_)->empty());
  ASSERT_TRUE(files_->MakeFolder(root_ + "/a").ok());
  EXPECT_EQ(*files_->List(root_), std::vector<std::string>{"a"});
  ASSERT_TRUE(files_->RemoveFolder(root_ + "/a").ok());
  EXPECT_TRUE(files_->RemoveFolder(root_).ok());
  EXPECT_TRUE(fs::is_directory(root_));
}

TEST_F(FilesBelowTest, PathsThatAreNotBelowAreRefused) {
  for (const std::string& path :
       {outside_, outside_ + "/file", root_ + "less", root_ + "/..",
        root_ + "/../outside/file", root_ + "//folder", root_ + "/",
        root_ + "/folder/./file", std::string("folder"), std::string()}) {
    ExpectAllRefused(path);
    EXPECT_EQ(files_->Remove(path).code(), Code::kInvalidArgument) << path;
    EXPECT_EQ(files_->Rename(root_ + "/folder/file", path).code(),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(TextOf(outside_ + "/file"), "outside");
}

TEST_F(FilesBelowTest, NoLinkIsFollowed) {
  fs::create_directory_symlink(outside_, root_ + "/out");
  fs::create_directory_symlink("folder", root_ + "/in");
  fs::create_symlink(outside_ + "/file", root_ + "/folder/link");
  fs::create_symlink(outside_ + "/new", root_ + "/folder/new");
  for (const char* name :
       {"/out", "/out/file", "/out/new/new", "/in", "/in/file", "/folder/link",
        "/folder/new", "/folder/link/a"}) {
    ExpectAllRefused(root_ + name);
  }
  EXPECT_EQ(files_->Remove(root_ + "/out/file").code(), Code::kInvalidArgument);
  EXPECT_EQ(files_->Rename(root_ + "/out/file", root_ + "/a").code(),
            Code::kInvalidArgument);
  EXPECT_EQ(files_->Rename(root_ + "/folder/file", root_ + "/out/a").code(),
            Code::kInvalidArgument);
  EXPECT_EQ(TextOf(outside_ + "/file"), "outside");
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
}

TEST_F(FilesBelowTest, ALinkIsRemovedAndReplacedAndNotWhatItLeadsTo) {
  fs::create_symlink(outside_ + "/file", root_ + "/a");
  fs::create_symlink(outside_ + "/file", root_ + "/b");
  EXPECT_TRUE(files_->Remove(root_ + "/a").ok());
  EXPECT_TRUE(files_->Rename(root_ + "/folder/file", root_ + "/b").ok());
  EXPECT_EQ(Read(root_ + "/b"), "inside");
  EXPECT_EQ(TextOf(outside_ + "/file"), "outside");
}

TEST_F(FilesBelowTest, APipeKeepsNobodyWaiting) {
  const std::string pipe = root_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(files_->Open(pipe).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(files_->Create(pipe).ok());
  EXPECT_FALSE(files_->CreateLarge(pipe).ok());
  EXPECT_FALSE(files_->Sync(pipe).ok());
}

TEST_F(FilesBelowTest, TheRootMayBeALink) {
  fs::create_directory_symlink(root_, folder_ / "way");
  const auto files = LocalFilesBelow(folder_ / "way");
  EXPECT_EQ(*files->Size(folder_ / "way/folder/file"), 6u);
}

// A folder and a link change places all the time: each call finds one or the
// other, and no call follows the link to the outside.
TEST_F(FilesBelowTest, NobodyIsLedOutsideWhileAFolderBecomesALink) {
  fs::create_directory_symlink(outside_, root_ + "/link");
  std::atomic<bool> ends{false};
  std::thread swapper([&] {
    const std::string folder = root_ + "/folder";
    const std::string link = root_ + "/link";
    while (!ends) {
      ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(),
                  RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    auto file = files_->Open(root_ + "/folder/file");
    if (file.ok()) {
      std::vector<uint8_t> bytes(1);
      EXPECT_EQ(*(*file)->Read(bytes), 1u);
      EXPECT_EQ(bytes[0], 'i');
    }
    (void)files_->MakeFolder(root_ + "/folder/made");
    (void)files_->Create(root_ + "/folder/new");
  }
  ends = true;
  swapper.join();
  EXPECT_FALSE(fs::exists(outside_ + "/made"));
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
}

TEST(FilesWithinTest, OfAllFilesLinksAreFollowed) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "text";
  fs::create_symlink(folder / "file", folder / "link");
  EXPECT_EQ(*FilesWithin("/")->Size(folder / "link"), 4u);
  EXPECT_EQ(
      FilesWithin(folder.path() + "/")->Size(folder / "link").status().code(),
      Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
