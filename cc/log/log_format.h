// The binary format of a recovery log, which consists of segment files of
// records. All numbers are little-endian.
//
//   segment = header record*
//   header (40 bytes) =
//     offset  size
//     0       4    magic "PLG1" (0x31474c50)
//     4       2    format version
//     6       2    SyncMode, what records survive: 1 a power loss, 2 the end
//                  of the process that wrote them
//     8       8    number of the segment, which its file's name contains
//     16      8    position of the segment's first record
//     24      12   zero
//     36      4    CRC-32C of header bytes 0 to 35
//   record = header body padding
//   header (32 bytes) =
//     0       4    body length in bytes
//     4       2    type, defined by the log's user
//     6       2    zero
//     8       8    position: the first record of a log has 0, the next 1, ...
//     16      8    safe: a position. When this record was appended, all records
//                  before `safe` were durable, as the segment's SyncMode says
//     24      4    CRC-32C of body and padding
//     28      4    CRC-32C of header bytes 0 to 27
//   padding = zero bytes, to a multiple of 8
//
// The magic and the format version are at the same place in every version. A
// record, and its body, start at multiples of 8 bytes.
//
// After a crash, the end of a log may be torn. How a reader distinguishes a
// torn end from damage depends on the SyncMode:
//
//   kDevice   after a power loss, any bytes that had not reached the device may
//             be missing, but all records before the `safe` of a later record
//             are there
//   kSystem   after the process ended, all bytes that it wrote are there, in
//             order: a torn end is the beginning of one record, where the file
//             ends
//
// Thread-safety: pure functions.

#ifndef PERSIA_CC_LOG_LOG_FORMAT_H_
#define PERSIA_CC_LOG_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

inline constexpr uint32_t kLogMagic = 0x31474c50;
inline constexpr uint16_t kLogVersion = 4;
inline constexpr size_t kSegmentHeaderBytes = 40;
inline constexpr size_t kRecordHeaderBytes = 32;
inline constexpr size_t kLogAlignment = 8;
inline constexpr uint64_t kMaxLogBodyBytes = 1ull << 30;

// Which failures the records of a log survive. The values are part of the
// format.
enum class SyncMode : uint16_t {
  kDevice = 1,  // Records survive a power loss.
  kSystem = 2,  // Records survive the end of this process, even by a crash.
};

struct SegmentHeader {
  uint64_t number = 0;
  uint64_t first_position = 0;
  SyncMode sync = SyncMode::kDevice;
};

struct RecordHeader {
  uint32_t body_bytes = 0;
  uint16_t type = 0;
  uint64_t position = 0;
  uint64_t safe = 0;
  uint32_t body_crc = 0;
};

inline uint64_t PaddedBytes(uint64_t body_bytes) {
  return (body_bytes + kLogAlignment - 1) / kLogAlignment * kLogAlignment;
}

inline uint64_t RecordBytes(uint64_t body_bytes) {
  return kRecordHeaderBytes + PaddedBytes(body_bytes);
}

void EncodeSegmentHeader(const SegmentHeader& header,
                         Span<uint8_t, kSegmentHeaderBytes> bytes);

// Decodes the header of a segment file that starts with `bytes`. Returns
// kDataLoss if the bytes are no segment header or too few for one, and
// kFailedPrecondition for an unsupported format version.
Result<SegmentHeader> DecodeSegmentHeader(Span<const uint8_t> bytes);

void EncodeRecordHeader(const RecordHeader& header,
                        Span<uint8_t, kRecordHeaderBytes> bytes);

// Decodes the record header at the start of `bytes`, which may have any length.
// Returns whether the header is valid.
bool DecodeRecordHeader(Span<const uint8_t> bytes, RecordHeader* header);

// Returns the checksum of a body, which is the concatenation of `parts`, and of
// its padding.
uint32_t BodyCrc(Span<const Span<const uint8_t>> parts);

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_FORMAT_H_
