// Any bytes as a frame's header, unchanged and with a corrected checksum.

#include <array>
#include <cstring>

#include "cc/base/crc32c.h"
#include "cc/wire/frame.h"
#include "tests/cc/support/sample_messages.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {
namespace {

constexpr uint64_t kMostBodyBytes = 1 << 20;
constexpr size_t kCrcAt = kFrameHeaderBytes - sizeof(uint32_t);

using HeaderBytes = std::array<uint8_t, kFrameHeaderBytes>;

void Mend(HeaderBytes* header) {
  const uint32_t crc = Crc32c(header->data(), kCrcAt);
  std::memcpy(header->data() + kCrcAt, &crc, sizeof(crc));
}

void Parse(const HeaderBytes& bytes, ConstBytes body) {
  FrameHeader header;
  const Status status = ParseFrameHeader(bytes, kMostBodyBytes, &header);
  if (!status.ok()) {
    FuzzCheck(!status.message().empty(), "an error says why");
    return;
  }
  FuzzCheck(header.version == kProtocolVersion, "another version is refused");
  FuzzCheck(header.body_bytes <= kMostBodyBytes, "a long body is refused");
  if (!CheckBody(header, body).ok()) return;
  FuzzCheck(header.body_bytes == body.size(), "a checked body is whole");
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  HeaderBytes header = {};
  std::memcpy(header.data(), bytes.data(),
              std::min(bytes.size(), header.size()));
  const ExactBytes body(bytes.size() > header.size()
                            ? bytes.subspan(header.size())
                            : ConstBytes());
  Parse(header, body.bytes());
  Mend(&header);
  Parse(header, body.bytes());
}

std::vector<FuzzInput> Seeds() {
  std::vector<FuzzInput> seeds;
  for (const SampleMessage& sample : SampleRequests()) {
    OutFrame frame{FuzzInput(kFrameHeaderBytes), {}};
    frame.head.insert(frame.head.end(), sample.body.begin(), sample.body.end());
    SealFrame(sample.type, 1, &frame);
    seeds.push_back(frame.head);
  }
  return seeds;
}

}  // namespace persia
