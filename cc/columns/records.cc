#include "cc/columns/records.h"

#include <cstring>

#include "cc/base/crc32c.h"

namespace persia {
namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);
constexpr size_t kChecksumBytes = sizeof(uint32_t);
constexpr size_t kHeadBytes = kLengthBytes + kChecksumBytes;

// Whether a checksum follows some bytes. It is rotated, so that a checksum of
// bytes that contain checksums is none of them.
bool IsIntact(const uint8_t* bytes, size_t size) {
  const uint32_t crc = Crc32c(bytes, size);
  const uint32_t expected = ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
  uint32_t found;
  std::memcpy(&found, bytes + size, sizeof(found));
  return found == expected;
}

Status Damaged(size_t number, size_t at, const char* what) {
  return Status(Code::kDataLoss,
                Concat("record ", number, ", at byte ", at, ", ", what));
}

}  // namespace

Status UnpackRecords(MutableBytes bytes, std::vector<int64_t>* offsets) {
  uint8_t* const data = bytes.data();
  size_t end = 0;
  offsets->assign(1, 0);
  for (size_t at = 0; at < bytes.size();) {
    const size_t number = offsets->size() - 1;
    const size_t left = bytes.size() - at;
    if (left < kRecordFrameBytes) return Damaged(number, at, "is not whole");
    if (!IsIntact(data + at, kLengthBytes)) {
      return Damaged(number, at, "has a damaged length");
    }
    uint64_t length;
    std::memcpy(&length, data + at, sizeof(length));
    if (length > left - kRecordFrameBytes) {
      return Damaged(number, at, "is not whole");
    }
    if (!IsIntact(data + at + kHeadBytes, length)) {
      return Damaged(number, at, "is damaged");
    }
    std::memmove(data + end, data + at + kHeadBytes, length);
    end += length;
    at += length + kRecordFrameBytes;
    offsets->push_back(static_cast<int64_t>(end));
  }
  return Status();
}

}  // namespace persia
