// CheckPredictRequest: refuses a gRPC prediction request that would take too
// much memory once protobuf has decoded it. The check itself does not decode
// it. A limit of the message's size would not suffice: an empty map entry has
// two bytes in a message, but takes almost two hundred as an object.

#ifndef PERSIA_CC_JSON_PREDICT_REQUEST_H_
#define PERSIA_CC_JSON_PREDICT_REQUEST_H_

#include <cstdint>
#include <string_view>

#include "cc/base/status.h"

namespace persia {

// The largest number of fields in a request, without the values of tensors:
// names, types, shapes and dimensions count. A named tensor has 6 such fields,
// and 2 more for each of its dimensions.
inline constexpr uint64_t kMaxRequestFields = uint64_t{1} << 15;

// The memory that a decoded string takes in addition to its bytes.
inline constexpr uint64_t kStringBytes = 16;

// Checks a serialized tensorflow.serving.PredictRequest. Reads the header of
// each field once, and the varints of packed numbers. Allocates no memory and
// takes no lock. Descends only into known types of messages; an unknown field
// is counted as if it were full of the smallest possible fields.
//
// Returns kResourceExhausted if the request has more than kMaxRequestFields
// fields, or if the decoded values of all tensors and all names take more than
// `most_value_bytes` together. Returns kInvalidArgument if the message is not
// well-formed. Protobuf may still refuse a message that passes this check.
Status CheckPredictRequest(std::string_view message, uint64_t most_value_bytes);

}  // namespace persia

#endif  // PERSIA_CC_JSON_PREDICT_REQUEST_H_
