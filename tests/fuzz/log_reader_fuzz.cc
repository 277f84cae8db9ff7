// Segments of any bytes, read as a log. An input is
//
//   u8 flags (1: checksums are mended, so that what they cover is reached),
//   u8 position to read from, segments*
//   (the other bits of the flags: the record that is given up if it is damaged)
//   segment = u16 length, bytes
//
// libFuzzer: -max_len=1024

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cc/base/crc32c.h"
#include "cc/log/log_format.h"
#include "cc/log/log_reader.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/given_files.h"

namespace persia {
namespace {

constexpr size_t kMostSegments = 8;

template <typename T>
T NumberAt(const FuzzInput& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

void PutCrc(FuzzInput* bytes, size_t at, size_t begin, size_t size) {
  const uint32_t crc = Crc32c(bytes->data() + begin, size);
  std::memcpy(bytes->data() + at, &crc, sizeof(crc));
}

// Sets the checksums of the segment and of its records, as log_format.h
// describes.
void MendChecksums(FuzzInput* segment) {
  if (segment->size() < kSegmentHeaderBytes) return;
  PutCrc(segment, 36, 0, 36);
  size_t at = kSegmentHeaderBytes;
  while (segment->size() - at >= kRecordHeaderBytes) {
    const uint64_t bytes = RecordBytes(NumberAt<uint32_t>(*segment, at));
    if (bytes > segment->size() - at) {
      PutCrc(segment, at + 28, at, 28);
      return;
    }
    PutCrc(segment, at + 24, at + kRecordHeaderBytes,
           bytes - kRecordHeaderBytes);
    PutCrc(segment, at + 28, at, 28);
    at += bytes;
  }
}

std::string PathOf(uint64_t number) {
  const std::string digits = std::to_string(number);
  return "log/log-" + std::string(20 - digits.size(), '0') + digits;
}

GivenBytes TakeSegments(Span<const uint8_t> rest, bool mends) {
  GivenBytes files;
  while (rest.size() >= 2 && files.size() < kMostSegments) {
    const size_t wanted = rest[0] | rest[1] << 8;
    rest = rest.subspan(2);
    const size_t size = std::min(wanted, rest.size());
    FuzzInput segment(rest.begin(), rest.begin() + size);
    rest = rest.subspan(size);
    if (mends) MendChecksums(&segment);
    files[PathOf(files.size() + 1)] = std::move(segment);
  }
  return files;
}

// Reads all records. Positions must count up, and bodies must be readable; the
// end must say what was left out.
void ReadAll(LogReader* reader) {
  uint64_t sum = 0;
  for (;;) {
    const uint64_t position = reader->position();
    const auto record = reader->Next();
    if (!record.ok()) {
      FuzzCheck(!reader->Next().ok(), "an error stays");
      return;
    }
    if (!record->has_value()) break;
    FuzzCheck((*record)->position == position, "no record is left out");
    FuzzCheck(reader->position() == position + 1, "positions count up");
    for (const uint8_t byte : (*record)->body) sum += byte;
  }
  FuzzCheck(reader->is_at_end(), "nothing comes after the end");
  const auto& torn = reader->torn_tail();
  FuzzCheck(!torn || torn->bytes > 0 || !torn->segments.empty(),
            "what is left out has bytes, or files after it");
  volatile const uint64_t sink = sum;  // So that bodies are really read.
  (void)sink;
}

void AppendSegment(uint64_t number, uint64_t first,
                   const std::vector<std::string>& bodies, FuzzInput* input,
                   SyncMode sync = SyncMode::kDevice) {
  FuzzInput segment(kSegmentHeaderBytes);
  EncodeSegmentHeader(
      {number, first, sync},
      Span<uint8_t, kSegmentHeaderBytes>(segment.data(), kSegmentHeaderBytes));
  for (size_t i = 0; i < bodies.size(); ++i) {
    RecordHeader header;
    header.body_bytes = static_cast<uint32_t>(bodies[i].size());
    header.type = 1;
    header.position = first + i;
    header.safe = first;
    const size_t at = segment.size();
    segment.resize(at + RecordBytes(bodies[i].size()));
    EncodeRecordHeader(header, Span<uint8_t, kRecordHeaderBytes>(
                                   segment.data() + at, kRecordHeaderBytes));
    std::copy(
        bodies[i].begin(), bodies[i].end(),
        segment.begin() + static_cast<ptrdiff_t>(at + kRecordHeaderBytes));
  }
  MendChecksums(&segment);
  input->push_back(static_cast<uint8_t>(segment.size()));
  input->push_back(static_cast<uint8_t>(segment.size() >> 8));
  input->insert(input->end(), segment.begin(), segment.end());
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  if (bytes.size() < 2) return;
  const bool mends = (bytes[0] & 1) != 0;
  GivenFiles files(TakeSegments(bytes.subspan(2), mends));
  const uint64_t lose_from = bytes[0] >> 1;
  auto reader = LogReader::Open({&files, "log"}, bytes[1], lose_from);
  if (reader.ok()) ReadAll(reader->get());
}

// Logs of one and of two segments, whole and torn, read from the beginning and
// from later positions.
std::vector<FuzzInput> Seeds() {
  std::vector<FuzzInput> seeds;
  for (const uint8_t flags : {0, 1, 5}) {
    for (const uint8_t from : {0, 1, 3}) {
      FuzzInput one = {flags, from};
      AppendSegment(1, 0, {"a", "", std::string(20, 'b')}, &one);
      FuzzInput two = one;
      AppendSegment(2, 3, {"c", "dd"}, &two, SyncMode::kSystem);
      FuzzInput torn = two;
      torn.resize(torn.size() - 5);
      for (const FuzzInput& seed : {one, two, torn}) seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace persia
