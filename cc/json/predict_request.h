// What a gRPC request for predictions takes once protobuf has decoded it, found
// without decoding it: an empty entry of a map has two bytes in a message, and
// takes almost two hundred as an object.

#ifndef PERSIA_CC_JSON_PREDICT_REQUEST_H_
#define PERSIA_CC_JSON_PREDICT_REQUEST_H_

#include <cstdint>
#include <string_view>

#include "cc/base/status.h"

namespace persia {

// The fields of a request, the values of tensors apart: names, types, shapes
// and dimensions. A tensor that comes under its name takes 6, and each of its
// dimensions 2 more.
inline constexpr uint64_t kMaxRequestFields = uint64_t{1} << 15;

// What a string takes in addition to its bytes.
inline constexpr uint64_t kStringBytes = 16;

// Checks a serialized tensorflow.serving.PredictRequest. Reads each field's
// header once and the varints of packed numbers, takes no memory and no lock,
// and goes only as deep as the messages that it knows. A field that it does not
// know, or whose message a server does not want, counts as if it were full of
// the smallest fields.
//
// Fails with kResourceExhausted for more than kMaxRequestFields, or if the
// values of all tensors, decoded, and all names take more than
// `most_value_bytes` together; with kInvalidArgument if the message is not
// well-formed. A message that it accepts may still be refused by protobuf.
Status CheckPredictRequest(std::string_view message, uint64_t most_value_bytes);

}  // namespace persia

#endif  // PERSIA_CC_JSON_PREDICT_REQUEST_H_
