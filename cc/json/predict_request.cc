#include "cc/json/predict_request.h"

#include <algorithm>
#include <cstddef>

namespace persia {
namespace {

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kBeginGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// The type of a field in a protobuf message.
enum class Kind {
  kScalar,
  kText,     // One string, or one bytes field.
  kStrings,  // A tensor's strings; each field has one value.
  // The next three are a tensor's numbers, packed into one field, or each in a
  // field of its own.
  kVarints,
  kFixed32s,
  kFixed64s,
  kMessage,
};

struct Message;

struct Field {
  uint32_t number;
  Kind kind;
  uint32_t value_bytes = 0;  // For a number: its size in bytes when decoded.
  const Message* message = nullptr;  // For a kMessage: its fields.
};

struct Message {
  const Field* fields;
  size_t count;

  // Returns null if the message has no field with this number.
  const Field* Find(uint64_t number) const {
    const Field* end = fields + count;
    const Field* found = std::find_if(
        fields, end, [=](const Field& each) { return each.number == number; });
    return found == end ? nullptr : found;
  }
};

template <size_t count>
constexpr Message Of(const Field (&fields)[count]) {
  return Message{fields, count};
}

constexpr Field kDimFields[] = {
    {1, Kind::kScalar},  // size
    {2, Kind::kText},    // name
};
constexpr Message kDim = Of(kDimFields);

constexpr Field kShapeFields[] = {
    {2, Kind::kMessage, 0, &kDim},  // dim
    {3, Kind::kScalar},             // unknown_rank
};
constexpr Message kShape = Of(kShapeFields);

// The fields of tensorflow.TensorProto, without resource_handle_val and
// variant_val.
constexpr Field kTensorFields[] = {
    {1, Kind::kScalar},               // dtype
    {2, Kind::kMessage, 0, &kShape},  // tensor_shape
    {3, Kind::kScalar},               // version_number
    {4, Kind::kText},                 // tensor_content
    {5, Kind::kFixed32s, 4},          // float_val
    {6, Kind::kFixed64s, 8},          // double_val
    {7, Kind::kVarints, 4},           // int_val
    {8, Kind::kStrings},              // string_val
    {9, Kind::kFixed32s, 4},          // scomplex_val
    {10, Kind::kVarints, 8},          // int64_val
    {11, Kind::kVarints, 1},          // bool_val
    {12, Kind::kFixed64s, 8},         // dcomplex_val
    {13, Kind::kVarints, 4},          // half_val
    {16, Kind::kVarints, 4},          // uint32_val
    {17, Kind::kVarints, 8},          // uint64_val
    {18, Kind::kText},                // float8_val
};
constexpr Message kTensor = Of(kTensorFields);

constexpr Field kInputFields[] = {
    {1, Kind::kText},                  // key
    {2, Kind::kMessage, 0, &kTensor},  // value
};
constexpr Message kInput = Of(kInputFields);

constexpr Field kVersionFields[] = {
    {1, Kind::kScalar},  // value
};
constexpr Message kVersion = Of(kVersionFields);

constexpr Field kModelFields[] = {
    {1, Kind::kText},                   // name
    {2, Kind::kMessage, 0, &kVersion},  // version
    {3, Kind::kText},                   // signature_name
    {4, Kind::kText},                   // version_label
};
constexpr Message kModel = Of(kModelFields);

constexpr Field kRequestFields[] = {
    {1, Kind::kMessage, 0, &kModel},  // model_spec
    {2, Kind::kMessage, 0, &kInput},  // inputs
    {3, Kind::kText},                 // output_filter
};
constexpr Message kRequest = Of(kRequestFields);

// Returns the wire type of a number that is not packed but has its own field.
uint32_t WireTypeOf(Kind kind) {
  if (kind == Kind::kFixed32s) return kFixed32;
  return kind == Kind::kFixed64s ? kFixed64 : kVarint;
}

uint64_t CountVarints(std::string_view packed) {
  return static_cast<uint64_t>(
      std::count_if(packed.begin(), packed.end(),
                    [](char byte) { return (byte & 0x80) == 0; }));
}

// Reads a message from front to back. A method returns false if the rest of the
// message is too short.
class Reader {
 public:
  explicit Reader(std::string_view message) : left_(message) {}

  bool is_at_end() const { return left_.empty(); }

  bool TakeVarint(uint64_t* value) {
    *value = 0;
    for (size_t i = 0; i < 10 && i < left_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(left_[i]);
      *value |= uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) {
        left_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  bool TakeBytes(std::string_view* bytes) {
    uint64_t size = 0;
    if (!TakeVarint(&size) || size > left_.size()) return false;
    *bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }

  bool Skip(size_t size) {
    if (size > left_.size()) return false;
    left_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view left_;
};

// Counts the fields of a request and the bytes of its decoded values, and
// checks both against their limits.
class Meter {
 public:
  explicit Meter(uint64_t most_value_bytes)
      : most_value_bytes_(most_value_bytes) {}

  Status Walk(std::string_view bytes, const Message& message) {
    Reader reader(bytes);
    while (!reader.is_at_end()) {
      uint64_t tag = 0;
      if (!reader.TakeVarint(&tag) || tag >> 3 == 0) return Malformed();
      const uint32_t type = tag & 7;
      const Field* field = message.Find(tag >> 3);
      if (type == kBytes) {
        std::string_view content;
        if (!reader.TakeBytes(&content)) return Malformed();
        PERSIA_RETURN_IF_ERROR(AddBytes(content, field));
      } else if (IsNumber(field, type)) {
        if (!SkipScalar(&reader, type)) return Malformed();
        PERSIA_RETURN_IF_ERROR(AddValues(field->value_bytes));
      } else {
        PERSIA_RETURN_IF_ERROR(AddFields(1));
        PERSIA_RETURN_IF_ERROR(SkipField(&reader, type));
      }
    }
    return Status();
  }

 private:
  static Status Malformed() {
    return InvalidArgument("the request is not a well-formed PredictRequest");
  }

  static bool IsNumber(const Field* field, uint32_t type) {
    return field != nullptr && field->value_bytes > 0 &&
           type == WireTypeOf(field->kind);
  }

  static bool SkipScalar(Reader* reader, uint32_t type) {
    uint64_t value = 0;
    if (type == kVarint) return reader->TakeVarint(&value);
    if (type == kFixed32) return reader->Skip(4);
    return type == kFixed64 && reader->Skip(8);
  }

  // Skips a field whose tag was already read. If the field is a group, skips
  // the whole group.
  Status SkipField(Reader* reader, uint32_t type) {
    uint64_t open = 0;
    while (true) {
      std::string_view content;
      if (type == kBeginGroup) {
        ++open;
      } else if (type == kEndGroup) {
        if (open == 0) return Malformed();
        --open;
      } else if (type == kBytes ? !reader->TakeBytes(&content)
                                : !SkipScalar(reader, type)) {
        return Malformed();
      }
      if (open == 0) return Status();
      PERSIA_RETURN_IF_ERROR(AddFields(1));
      uint64_t tag = 0;
      if (!reader->TakeVarint(&tag) || tag >> 3 == 0) return Malformed();
      type = tag & 7;
    }
  }

  Status AddBytes(std::string_view content, const Field* field) {
    if (field != nullptr && field->kind == Kind::kStrings) {
      return AddValues(kStringBytes + content.size());
    }
    PERSIA_RETURN_IF_ERROR(AddFields(1));
    const Kind kind = field == nullptr ? Kind::kScalar : field->kind;
    switch (kind) {
      case Kind::kMessage:
        return Walk(content, *field->message);
      case Kind::kVarints:
        return AddValues(CountVarints(content) * field->value_bytes);
      case Kind::kText:
      case Kind::kFixed32s:
      case Kind::kFixed64s:
        return AddValues(content.size());
      default:
        // A field takes at least two bytes, so this is the largest possible
        // number of fields.
        return AddFields(content.size() / 2);
    }
  }

  Status AddFields(uint64_t count) {
    fields_ += count;
    if (fields_ <= kMaxRequestFields) return Status();
    return Status(
        Code::kResourceExhausted,
        Concat("a request must have at most ", kMaxRequestFields,
               " fields, not counting those of its values. Received: ", fields_,
               " or more; give fewer inputs"));
  }

  Status AddValues(uint64_t bytes) {
    value_bytes_ += bytes;
    if (value_bytes_ <= most_value_bytes_) return Status();
    return Status(
        Code::kResourceExhausted,
        Concat("the decoded values of a request must take at most ",
               most_value_bytes_, " bytes (a string takes ", kStringBytes,
               " bytes plus its length). Received: ", value_bytes_,
               " or more; send fewer examples at once, or raise "
               "--max-message-bytes"));
  }

  const uint64_t most_value_bytes_;
  uint64_t fields_ = 0;
  uint64_t value_bytes_ = 0;
};

}  // namespace

Status CheckPredictRequest(std::string_view message,
                           uint64_t most_value_bytes) {
  return Meter(most_value_bytes).Walk(message, kRequest);
}

}  // namespace persia
