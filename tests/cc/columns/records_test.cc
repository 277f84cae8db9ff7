#include "cc/columns/records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/base/crc32c.h"

namespace persia {
namespace {

void AppendWithChecksum(const std::string& bytes, std::string* file) {
  const uint32_t crc = Crc32c(bytes.data(), bytes.size());
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
  *file += bytes;
  file->append(reinterpret_cast<const char*>(&masked), sizeof(masked));
}

std::string FileOf(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) {
    const uint64_t length = record.size();
    AppendWithChecksum(
        std::string(reinterpret_cast<const char*>(&length), sizeof(length)),
        &file);
    AppendWithChecksum(record, &file);
  }
  return file;
}

Status Unpack(std::string* file, std::vector<int64_t>* offsets) {
  auto* const data = reinterpret_cast<uint8_t*>(file->data());
  return UnpackRecords(MutableBytes(data, file->size()), offsets);
}

TEST(RecordsTest, ContentsFollowEachOther) {
  std::string file = FileOf({"first", "", "the third"});
  std::vector<int64_t> offsets;
  const Status status = Unpack(&file, &offsets);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 5, 5, 14}));
  EXPECT_EQ(file.substr(0, 14), "firstthe third");
}

TEST(RecordsTest, AFileMayBeEmpty) {
  std::string file;
  std::vector<int64_t> offsets;
  EXPECT_TRUE(Unpack(&file, &offsets).ok());
  EXPECT_EQ(offsets, std::vector<int64_t>{0});
}

TEST(RecordsTest, EveryDamageIsFound) {
  const std::string whole = FileOf({"first", "second"});
  const size_t first = 5 + kRecordFrameBytes;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    const Status status = Unpack(&damaged, &offsets);
    EXPECT_EQ(status.code(), Code::kDataLoss);
    const std::string place =
        i < first ? "record 0, at byte 0," : "record 1, at byte 21,";
    EXPECT_EQ(status.message().substr(0, place.size()), place);
    std::string truncated = whole.substr(0, i);
    EXPECT_EQ(Unpack(&truncated, &offsets).ok(), i == 0 || i == first);
  }
}

}  // namespace
}  // namespace persia
