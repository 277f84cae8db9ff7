// Any bytes as a gRPC request for predictions, of which the decoded size is
// computed.

#include <cstdint>
#include <string>
#include <string_view>

#include "cc/json/predict_request.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {

void FuzzOne(Span<const uint8_t> bytes) {
  const ExactBytes exact(bytes);
  const std::string_view message(
      reinterpret_cast<const char*>(exact.bytes().data()), bytes.size());
  // An empty string takes the most memory for its two bytes.
  const uint64_t most = message.size() * (kStringBytes / 2);
  const Status status = CheckPredictRequest(message, most);
  FuzzCheck(status.ok() || !status.message().empty(), "an error says why");
  FuzzCheck(status.code() != Code::kResourceExhausted ||
                message.size() > kMaxRequestFields,
            "a short message does not take more");
  const Status none = CheckPredictRequest(message, 0);
  FuzzCheck(status.ok() || !none.ok(), "a lower limit accepts no more");
}

std::vector<FuzzInput> Seeds() {
  std::vector<FuzzInput> seeds;
  for (const std::string& message : {
           // Model "m" and version 7; "x": strings in a shape of one dimension.
           std::string("\x0a\x07\x0a\x01m\x12\x02\x08\x07"
                       "\x12\x12\x0a\x01x\x12\x0d\x08\x07\x12\x04\x12\x02\x08"
                       "\x02"
                       "B\x01"
                       "aB\x00",
                       29),
           // Numbers, packed and not packed, and a group.
           std::string("\x12\x0a\x12\x08R\x02\x01\x02P\x05z\x00", 12),
           std::string("\x4b\x0a\x01"
                       "a\x4c",
                       5),
       }) {
    seeds.emplace_back(message.begin(), message.end());
  }
  return seeds;
}

}  // namespace persia
