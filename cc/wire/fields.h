// A message's fields are listed once, by a function that hands them to a
// visitor in the order in which they are on the wire:
//
//   template <typename Visit, typename Request>
//   static void Fields(Visit& visit, Request& request) {
//     visit(request.table, request.stays, kReserved);
//   }
//
// FieldWriter writes the fields to a frame, FieldReader reads them from a body,
// and FieldBounds computes the least number of bytes that they take. All
// numbers are little-endian. Each visitor has:
//
//   visit(field, ...)       one or more fields, each of which is:
//                           - a number, in its 4 or 8 bytes
//                           - a bool or an enum, in 4 bytes
//                           - kReserved: 4 bytes of 0
//                           - a text: u32 length, bytes, zeros to a multiple of
//                             8 from the body's start
//                           - a TableConfig: see table_config_codec.h
//                           - a vector of records: its Size, kReserved, Each
//   visit.Size(records)     u32: how many records there are
//   visit.Each(records)     each record's fields: those of FieldsOf<Record>
//   visit.CodeOf(status)    u32, the status's code
//   visit.MessageOf(status) the status's text, somewhere after its code
//   visit.Slots(slots)      a SlotSet: a vector of the numbers of ToWords
//   visit.Count(array)      u64: how many elements an array has
//   visit.Array(array)      the elements of a counted array; arrays come in the
//                           order in which they were counted
//   visit.Array(array, n)   an array's n elements; n follows from other fields
//   visit.Pad()             zeros to a multiple of 8 from the body's start
//   visit.Limit(most, n)    n must not exceed the limit `most` (RequestLimits)
//   visit.Check(rule)       an error that rule() returns ends the reading
//   visit.Expect(rule)      an error that rule() returns is reported after the
//                           reading, unless the body is malformed
//
// Every field starts at a multiple of its size, and arrays of 8-byte numbers
// start at a multiple of 8 from the body's start, so that a reader can point
// into the body. Arrays come after all other fields. Not thread-safe.

#ifndef PERSIA_CC_WIRE_FIELDS_H_
#define PERSIA_CC_WIRE_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cc/base/byte_reader.h"
#include "cc/base/slot_set.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/store/table_config_codec.h"
#include "cc/wire/frame_writer.h"
#include "cc/wire/request_limits.h"

namespace persia {

// A field of 4 bytes that must be 0.
struct Reserved {};
inline constexpr Reserved kReserved;

using RequestLimit = Status (RequestLimits::*)(uint64_t count) const;

// Returns an error unless the value is one of the enum's values, which go from
// `first` to `last`. The error's message is `what` followed by the value.
template <typename Enum>
Status CheckEnum(Enum value, Enum first, Enum last, const char* what,
                 Code code = Code::kInvalidArgument) {
  if (value >= first && value <= last) return Status();
  return Status(code, Concat(what, static_cast<uint32_t>(value)));
}

inline Status CheckDim(uint32_t dim) {
  if (dim >= 1 && dim <= kMaxDim) return Status();
  return InvalidArgument("dim must be in [1, ", kMaxDim, "], received ", dim);
}

// Lists the fields of a record; specialized for each type of record:
//   template <typename Visit, typename Record>
//   static void Fields(Visit& visit, Record& record);
template <typename Record>
struct FieldsOf;

template <>
struct FieldsOf<std::string> {
  template <typename Visit, typename Text>
  static void Fields(Visit& visit, Text& text) {
    visit(text);
  }
};

template <>
struct FieldsOf<uint64_t> {
  template <typename Visit, typename Number>
  static void Fields(Visit& visit, Number& number) {
    visit(number);
  }
};

// Writes fields to a frame. The frame refers to arrays in place, so they must
// outlive it.
class FieldWriter {
 public:
  static constexpr bool kReads = false;

  template <typename... Field>
  void operator()(const Field&... fields) {
    (Put(fields), ...);
  }

  template <typename Record>
  void Size(const std::vector<Record>& records, RequestLimit = nullptr) {
    writer_.U32(static_cast<uint32_t>(records.size()));
  }

  template <typename Record>
  void Each(const std::vector<Record>& records) {
    for (const Record& record : records) {
      FieldsOf<Record>::Fields(*this, record);
    }
  }

  void CodeOf(const Status& status) {
    writer_.U32(static_cast<uint32_t>(status.code()));
  }
  void MessageOf(const Status& status) { writer_.Text(status.message()); }

  void Slots(const SlotSet& slots) { Put(ToWords(slots)); }

  template <typename Elements>
  void Count(const Elements& array) {
    writer_.U64(array.size());
  }

  template <typename T>
  void Array(Span<const T> array, uint64_t = 0) {
    writer_.Array(array);
  }
  template <typename T>
  void Array(const std::vector<T>& array, uint64_t = 0) {
    writer_.Array(Span<const T>(array));
  }

  // Appends zeros, for fields that are written where they will be sent from.
  // Returns their place, which is valid until the next field is written. Must
  // come before all arrays.
  uint8_t* Zeros(size_t size) { return writer_.head()->Zeros(size); }

  void Pad() { writer_.PadArrays(); }
  bool stopped() const { return false; }
  void Limit(RequestLimit, uint64_t) {}
  template <typename Rule>
  void Check(const Rule&) {}
  template <typename Rule>
  void Expect(const Rule&) {}

  OutFrame Seal(MessageType type, uint64_t request_id) {
    return writer_.Seal(type, request_id);
  }

 private:
  void Put(uint64_t value) { writer_.U64(value); }
  void Put(uint32_t value) { writer_.U32(value); }
  void Put(float value) { writer_.F32(value); }
  void Put(bool value) { writer_.U32(value ? 1 : 0); }
  void Put(Reserved) { writer_.U32(0); }
  void Put(const std::string& text) { writer_.Text(text); }
  void Put(const TableConfig& config) {
    WriteTableConfig(config, writer_.head());
  }
  template <typename Enum>
  std::enable_if_t<std::is_enum_v<Enum>> Put(Enum value) {
    writer_.U32(static_cast<uint32_t>(value));
  }
  template <typename Record>
  void Put(const std::vector<Record>& records) {
    Size(records);
    Put(kReserved);
    Each(records);
  }

  FrameWriter writer_;
};

// Computes the least number of bytes that a record takes, which is its size
// with empty texts and arrays, and how many counted arrays it has.
class FieldBounds {
 public:
  template <typename... Field>
  void operator()(const Field&... fields) {
    (Add(fields), ...);
  }

  void CodeOf(const Status&) { bytes_ += sizeof(uint32_t); }
  void MessageOf(const Status&) { AddText(); }
  void Slots(const SlotSet&) { bytes_ += 2 * sizeof(uint32_t); }
  template <typename Elements>
  void Count(const Elements&) {
    bytes_ += sizeof(uint64_t);
    ++arrays_;
  }
  template <typename Rule>
  void Expect(const Rule&) {}

  size_t bytes() const { return bytes_; }
  size_t arrays() const { return arrays_; }

 private:
  template <typename Number>
  std::enable_if_t<std::is_arithmetic_v<Number> || std::is_enum_v<Number>> Add(
      Number) {
    bytes_ += sizeof(Number) == 8 ? 8 : 4;
  }
  void Add(Reserved) { bytes_ += sizeof(uint32_t); }
  void Add(const std::string&) { AddText(); }
  void Add(const TableConfig&) { bytes_ += kLeastTableConfigBytes; }
  template <typename Record>
  void Add(const std::vector<Record>&) {
    bytes_ += 2 * sizeof(uint32_t);
  }
  void AddText() {
    const size_t end = bytes_ + sizeof(uint32_t);
    bytes_ = end + ByteWriter::PaddingAt(end).size();
  }

  size_t bytes_ = 0;
  size_t arrays_ = 0;
};

template <typename Record>
FieldBounds BoundsOf() {
  FieldBounds bounds;
  const Record record{};
  FieldsOf<Record>::Fields(bounds, record);
  return bounds;
}

// Reads fields from untrusted bytes: checks every length against the body
// before using it. Spans point into the body, which must be 8-byte aligned and
// outlive them; vectors are copies. After an error, the fields' values are
// unspecified.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  explicit FieldReader(ConstBytes body, const RequestLimits& limits = {})
      : reader_(body), limits_(limits) {}

  template <typename... Field>
  void operator()(Field&... fields) {
    (Get(fields), ...);
  }

  // Reads the number of records, checks it against the limit `most`, if given,
  // and only then allocates the records.
  template <typename Record>
  void Size(std::vector<Record>& records, RequestLimit most = nullptr) {
    const FieldBounds bounds = BoundsOf<Record>();
    const uint32_t count = reader_.Count(bounds.bytes());
    if (most != nullptr) Limit(most, count);
    records.clear();
    if (stopped()) return;
    records.resize(count);
    counts_.reserve(counts_.size() + bounds.arrays() * records.size());
  }

  template <typename Record>
  void Each(std::vector<Record>& records) {
    for (Record& record : records) {
      if (stopped()) return;
      FieldsOf<Record>::Fields(*this, record);
    }
  }

  void CodeOf(Status&) { code_ = static_cast<Code>(reader_.U32()); }
  void MessageOf(Status& status) {
    std::string message = reader_.Text();
    if (code_ != Code::kOk) status = Status(code_, std::move(message));
  }

  void Slots(SlotSet& slots) {
    std::vector<uint64_t> words;
    Get(words);
    if (stopped()) return;
    auto read = SlotsFromWords(words);
    if (read.ok()) slots = *read;
    Check([&] { return read.status(); });
  }

  template <typename Elements>
  void Count(const Elements&) {
    counts_.push_back(reader_.U64());
  }

  template <typename Elements>
  void Array(Elements& array) {
    Array(array, stopped() ? 0 : counts_[next_count_++]);
  }
  template <typename T>
  void Array(Span<const T>& array, uint64_t count) {
    array = stopped() ? Span<const T>() : reader_.Array<T>(count);
  }
  template <typename T>
  void Array(std::vector<T>& array, uint64_t count) {
    Span<const T> in_body;
    Array(in_body, count);
    array.assign(in_body.begin(), in_body.end());
  }

  // Returns a view of the next `count` elements of `each` bytes, for fields
  // that cannot be used where they lie. `each` must not be 0.
  ConstBytes Elements(uint64_t count, size_t each) {
    return stopped() ? ConstBytes() : reader_.Elements(count, each);
  }

  void Pad() {
    if (!stopped()) reader_.SkipPadding();
  }

  void Limit(RequestLimit most, uint64_t count) {
    Check([&] { return (limits_.*most)(count); });
  }
  template <typename Rule>
  void Check(const Rule& rule) {
    if (!stopped()) refusal_ = rule();
  }
  template <typename Rule>
  void Expect(const Rule& rule) {
    if (expected_.ok() && !stopped()) expected_ = rule();
  }

  // Whether an error ended the reading.
  bool stopped() const { return reader_.failed() || !refusal_.ok(); }

  // Ends the reading. Returns the first of these errors that has occurred: an
  // error of Check; kDataLoss if the body was not read exactly to its end; the
  // first error of Expect. In messages, `name` + `suffix` names the body.
  Status Finish(std::string_view name, std::string_view suffix = "") {
    PERSIA_RETURN_IF_ERROR(refusal_);
    PERSIA_RETURN_IF_ERROR(reader_.Finish(name, suffix));
    return std::move(expected_);
  }

 private:
  void Get(uint64_t& value) { value = reader_.U64(); }
  void Get(uint32_t& value) { value = reader_.U32(); }
  void Get(float& value) { value = reader_.F32(); }
  void Get(bool& value) { value = reader_.Bool32(); }
  void Get(const Reserved&) { reader_.Zero32(); }
  void Get(std::string& text) { text = reader_.Text(); }
  void Get(TableConfig& config) {
    const Status read = ReadTableConfig(&reader_, &config);
    Expect([&] { return read; });
  }
  template <typename Enum>
  std::enable_if_t<std::is_enum_v<Enum>> Get(Enum& value) {
    value = static_cast<Enum>(reader_.U32());
  }
  template <typename Record>
  void Get(std::vector<Record>& records) {
    Size(records);
    Get(kReserved);
    Each(records);
  }

  ByteReader reader_;
  const RequestLimits limits_;
  Status refusal_;                // First error of Check.
  Status expected_;               // First error of Expect.
  Code code_ = Code::kOk;         // The code of a status whose text follows.
  std::vector<uint64_t> counts_;  // Lengths of arrays that follow.
  size_t next_count_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_FIELDS_H_
