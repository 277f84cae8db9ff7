#include "cc/capi/callback_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cc/base/status.h"

namespace persia {
namespace {

// The state of the functions below; each test has a new one.
struct Bucket {
  std::map<std::string, std::string> objects;
  std::map<uint64_t, std::pair<std::string, std::string>> open;  // URL, bytes.
  uint64_t last = 0;
  std::vector<uint64_t> released;
  std::vector<uint64_t> appends;  // Their sizes.
  size_t most_read = 1000;        // The most bytes that one call reads.
  uint64_t read_too_much = 0;
  std::string fails;  // The function that fails, with `code`.
  Code code = Code::kUnavailable;
  std::string message = "the server is on fire";
};
Bucket* bucket = nullptr;

int Outcome(const std::string& function, char* message) {
  if (bucket->fails != function) return 0;
  std::strncpy(message, bucket->message.c_str(), PERSIA_FILE_MESSAGE_BYTES);
  return static_cast<int>(bucket->code);
}

int NotThere(char* message) {
  std::strcpy(message, "no such thing");
  return static_cast<int>(Code::kNotFound);
}

int Create(const char* url, uint64_t* file, char* message) {
  *file = ++bucket->last;
  bucket->open[*file] = {url, ""};
  return Outcome("create", message);
}

int Append(uint64_t file, const uint8_t* bytes, uint64_t size, char* message) {
  bucket->appends.push_back(size);
  bucket->open[file].second.append(reinterpret_cast<const char*>(bytes), size);
  return Outcome("append", message);
}

int Finish(uint64_t file, char* message) {
  const int outcome = Outcome("finish", message);
  if (outcome == 0) {
    bucket->objects[bucket->open[file].first] = bucket->open[file].second;
  }
  return outcome;
}

int Open(const char* url, uint64_t* file, char* message) {
  if (bucket->objects.count(url) == 0) return NotThere(message);
  *file = ++bucket->last;
  bucket->open[*file] = {url, bucket->objects[url]};
  return Outcome("open", message);
}

int Read(uint64_t file, uint8_t* bytes, uint64_t size, uint64_t* got,
         char* message) {
  std::string& left = bucket->open[file].second;
  *got = std::min<uint64_t>({size, left.size(), bucket->most_read});
  std::memcpy(bytes, left.data(), *got);
  left.erase(0, *got);
  *got += bucket->read_too_much;
  return Outcome("read", message);
}

void Release(uint64_t file) {
  bucket->released.push_back(file);
  bucket->open.erase(file);
}

int Size(const char* url, uint64_t* bytes, char* message) {
  if (bucket->objects.count(url) == 0) return NotThere(message);
  *bytes = bucket->objects[url].size();
  return 0;
}

int WriteWhole(const char* url, const uint8_t* bytes, uint64_t size,
               char* message) {
  bucket->objects[url] = std::string(bytes, bytes + size);
  return Outcome("write_whole", message);
}

int Remove(const char* url, char* message) {
  bucket->objects.erase(url);
  return Outcome("remove", message);
}

int List(const char*, persia_file_names* names, char* message) {
  for (const char* name : {"c", "a", "b"}) persia_file_names_add(names, name);
  return Outcome("list", message);
}

int Folder(const char*, char* message) { return Outcome("folder", message); }

constexpr persia_files kCalls = {Create, Append,  Finish, Open,
                                 Read,   Release, Size,   WriteWhole,
                                 Remove, List,    Folder, Folder};
constexpr char kUrl[] = "s3://bucket/a";

std::vector<uint8_t> BytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

class CallbackFilesTest : public ::testing::Test {
 protected:
  CallbackFilesTest() { bucket = &bucket_; }
  ~CallbackFilesTest() override { bucket = nullptr; }

  Bucket bucket_;
  CallbackFiles files_{kCalls};
};

TEST_F(CallbackFilesTest, AFileIsThereOnceItIsFinished) {
  auto file = files_.Create(kUrl);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(BytesOf("some ")).ok());
  ASSERT_TRUE((*file)->Append(BytesOf("text")).ok());
  EXPECT_TRUE(bucket_.objects.empty());
  ASSERT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(bucket_.objects[kUrl], "some text");
  *file = nullptr;
  EXPECT_EQ(bucket_.released, std::vector<uint64_t>{1});
}

TEST_F(CallbackFilesTest, SmallAppendsGoTogether) {
  auto file = files_.Create(kUrl);
  const std::vector<uint8_t> bytes(size_t{3} << 20, 7);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE((*file)->Append(bytes).ok());
  EXPECT_EQ(bucket_.appends, std::vector<uint64_t>(2, 8u << 20));
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(bucket_.appends.back(), 2u << 20);
  EXPECT_EQ(bucket_.objects[kUrl], std::string(size_t{18} << 20, 7));
}

TEST_F(CallbackFilesTest, AFileThatIsNotFinishedIsReleasedAndNotThere) {
  {
    auto file = files_.Create(kUrl);
    ASSERT_TRUE((*file)->Append(BytesOf("text")).ok());
  }
  EXPECT_TRUE(bucket_.objects.empty());
  EXPECT_EQ(bucket_.released.size(), 1u);
}

TEST_F(CallbackFilesTest, AFileThatWasNotCreatedIsNotReleased) {
  bucket_.fails = "create";
  EXPECT_FALSE(files_.Create(kUrl).ok());
  EXPECT_TRUE(bucket_.released.empty());
}

TEST_F(CallbackFilesTest, ReadsOnThoughEachCallGivesLittle) {
  bucket_.objects[kUrl] = "12345";
  bucket_.most_read = 2;
  auto file = files_.Open(kUrl);
  ASSERT_TRUE(file.ok());
  std::vector<uint8_t> bytes(3);
  EXPECT_EQ(*(*file)->Read(bytes), 3u);
  EXPECT_EQ(bytes, BytesOf("123"));
  EXPECT_EQ(*(*file)->Read(bytes), 2u);
  EXPECT_EQ(*(*file)->Read(bytes), 0u);
}

TEST_F(CallbackFilesTest, MoreThanWasAskedForIsAnError) {
  bucket_.objects[kUrl] = "12345";
  bucket_.read_too_much = 10;
  auto file = files_.Open(kUrl);
  std::vector<uint8_t> bytes(5);
  EXPECT_EQ((*file)->Read(bytes).status().code(), Code::kInternal);
}

TEST_F(CallbackFilesTest, AnErrorNamesThePathAndWhatTheLibrarySays) {
  auto file = files_.Create(kUrl);
  ASSERT_TRUE((*file)->Append(BytesOf("text")).ok());
  bucket_.fails = "finish";
  bucket_.code = Code::kResourceExhausted;
  const Status status = (*file)->Finish();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "cannot finish s3://bucket/a: the server is on fire");
}

TEST_F(CallbackFilesTest, AMessageMayFillItsRoom) {
  bucket_.fails = "remove";
  bucket_.message = std::string(2 * PERSIA_FILE_MESSAGE_BYTES, 'x');
  const std::string message = files_.Remove(kUrl).message();
  EXPECT_EQ(std::count(message.begin(), message.end(), 'x'),
            PERSIA_FILE_MESSAGE_BYTES - 1);
}

TEST_F(CallbackFilesTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(files_.Open(kUrl).status().code(), Code::kNotFound);
  EXPECT_EQ(files_.Size(kUrl).status().code(), Code::kNotFound);
}

TEST_F(CallbackFilesTest, WritesAndRemovesWholeFiles) {
  ASSERT_TRUE(files_.WriteWhole(kUrl, BytesOf("text")).ok());
  EXPECT_EQ(*files_.Size(kUrl), 4u);
  EXPECT_EQ(bucket_.objects[kUrl], "text");
  ASSERT_TRUE(files_.Remove(kUrl).ok());
  EXPECT_TRUE(bucket_.objects.empty());
}

TEST_F(CallbackFilesTest, ListsNamesInOrder) {
  EXPECT_EQ(*files_.List("s3://bucket"),
            (std::vector<std::string>{"a", "b", "c"}));
  bucket_.fails = "list";
  EXPECT_FALSE(files_.List("s3://bucket").ok());
}

TEST_F(CallbackFilesTest, ThereIsNeitherSyncNorRename) {
  auto file = files_.Create(kUrl);
  for (const Status& status : {(*file)->Sync(), files_.Sync(kUrl),
                               files_.Rename(kUrl, "s3://bucket/b")}) {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_NE(status.message().find(kUrl), std::string::npos);
  }
}

}  // namespace
}  // namespace persia
