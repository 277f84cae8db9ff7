#include "cc/files/direct_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cc/files/temporary_folder.h"

namespace persia {
namespace {

constexpr size_t kBufferBytes = size_t{4} << 20;

// The first `size` bytes of a series that does not repeat soon.
std::vector<uint8_t> Bytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * i >> 7);
  return bytes;
}

std::vector<uint8_t> Contents(const std::string& path) {
  std::vector<uint8_t> bytes(std::filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.good());
  return bytes;
}

// Appends `bytes` in pieces of `piece`, and finishes.
void Write(const std::string& path, Span<const uint8_t> bytes, size_t piece) {
  auto file = CreateDirectFile(Place::Anywhere(path));
  ASSERT_TRUE(file.ok()) << file.status().message();
  while (!bytes.empty()) {
    const size_t count = std::min(piece, bytes.size());
    ASSERT_TRUE((*file)->Append(bytes.subspan(0, count)).ok());
    bytes = bytes.subspan(count);
  }
  const Status status = (*file)->Finish();
  ASSERT_TRUE(status.ok()) << status.message();
}

class DirectFileTest : public ::testing::TestWithParam<std::string> {
 protected:
  // The parameters are a folder that is most often on a device, and one in
  // memory.
  DirectFileTest() { std::filesystem::create_directories(path_ + ".d"); }
  ~DirectFileTest() override { std::filesystem::remove_all(path_ + ".d"); }

  const TemporaryFolder folder_;
  const std::string path_ =
      GetParam() + "/persia-direct-file-test-" +
      std::filesystem::path(folder_.path()).filename().string();
  const std::string file_ = path_ + ".d/a";
};

TEST_P(DirectFileTest, HasWhatWasAppendedWhateverTheSize) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{5000},
                            kBufferBytes - 1, kBufferBytes, kBufferBytes + 1,
                            3 * kBufferBytes + 4096, 2 * kBufferBytes + 17}) {
    const std::vector<uint8_t> bytes = Bytes(size);
    Write(file_, bytes, 1'000'003);
    EXPECT_TRUE(Contents(file_) == bytes) << size;
  }
}

TEST_P(DirectFileTest, ASyncInTheMiddleChangesNothing) {
  const std::vector<uint8_t> bytes = Bytes(kBufferBytes + 5000);
  const Span<const uint8_t> all(bytes);
  auto file = CreateDirectFile(Place::Anywhere(file_));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(all.subspan(0, 100)).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(Contents(file_).size(), 100u);
  ASSERT_TRUE((*file)->Append(all.subspan(100)).ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_TRUE(Contents(file_) == bytes);
}

TEST_P(DirectFileTest, ReplacesAFile) {
  Write(file_, Bytes(10000), 10000);
  Write(file_, Bytes(10), 10);
  EXPECT_EQ(Contents(file_).size(), 10u);
}

// A folder on a disk, or the test's own folder where tests may write nowhere
// else.
std::string DiskFolder() {
  const char* own = std::getenv("TEST_TMPDIR");
  return own == nullptr ? "/var/tmp" : own;
}

INSTANTIATE_TEST_SUITE_P(Folders, DirectFileTest,
                         ::testing::Values(DiskFolder(), "/dev/shm"));

TEST(DirectFileErrorTest, AFullDeviceIsAnError) {
  auto file = CreateDirectFile(Place::Anywhere("/dev/full"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_TRUE((*file)->Append(Bytes(10)).ok());
  const Status status = (*file)->Finish();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("cannot write /dev/full: No space left"),
            std::string::npos)
      << status.message();
}

TEST(DirectFileErrorTest, AFolderThatIsNotThereIsNotFound) {
  EXPECT_EQ(CreateDirectFile(Place::Anywhere("/nowhere/a")).status().code(),
            Code::kNotFound);
}

}  // namespace
}  // namespace persia
