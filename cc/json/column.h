// Column: one input of a prediction request, whose values are added one by one
// while the request is parsed.

#ifndef PERSIA_CC_JSON_COLUMN_H_
#define PERSIA_CC_JSON_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// The kinds of JSON values, as bit flags.
enum JsonKind : uint32_t {
  kJsonBool = 1,
  kJsonInteger = 2,  // An integer of 64 bits, signed or unsigned.
  kJsonFloat = 4,    // Any other number, including NaN and infinities.
  kJsonText = 8,
  kJsonBytes = 16,  // An object {"b64": "..."}.
  kJsonNull = 32,
  kJsonObject = 64,  // An object other than {"b64": "..."}.
};

// Where to write the values of a column, and in which format.
struct ColumnOutput {
  enum class Form : int {
    kNone = 0,
    kBools = 1,  // 1 byte per value.
    // 8 bytes per value: int64_t, or uint64_t if the value is at least 2^63.
    kIntegers = 2,
    kDoubles = 3,
    // For each text, `values` has the offset in `texts` where the text ends, as
    // a uint64_t. `are_base64` tells whether the text is a kJsonBytes value,
    // whose base64 is copied without decoding.
    kTexts = 4,
  };

  Form form = Form::kNone;
  void* values = nullptr;
  uint64_t value_count = 0;
  char* texts = nullptr;
  uint64_t text_bytes = 0;
  uint8_t* are_base64 = nullptr;
};

// Describes a column (kinds, shape, size) and can write its values to memory. A
// Column stores no values, so it takes a few hundred bytes, however many values
// there are.
//
// Not thread-safe.
class Column {
 public:
  // The largest number of dimensions that every version of NumPy supports.
  static constexpr size_t kMaxRank = 32;

  // If `in_rows`, the column's values are the elements of one list, one element
  // per row. This list is open from the beginning and ends with EndRows.
  Column(std::string name, bool in_rows);

  const std::string& name() const { return name_; }
  // The kinds of the column's values as JsonKind bits; 0 if it has no value.
  uint32_t kinds() const { return kinds_; }
  // Whether the values do not form an array: sibling lists differ in length,
  // values are siblings of lists, or lists are nested deeper than kMaxRank.
  bool is_ragged() const { return is_ragged_; }
  // The shape of the array that the values form; without meaning if
  // is_ragged().
  Span<const uint64_t> shape() const;
  uint64_t value_count() const { return value_count_; }
  // The total length in bytes of all texts.
  uint64_t text_bytes() const { return text_bytes_; }
  // The minimum and the maximum of 0 and the column's integers.
  int64_t least() const { return least_; }
  uint64_t most() const { return most_; }

  void BeginList();
  void EndList();
  void EndRows() { EndList(); }
  // Whether the last value that was begun, which may be a list, has ended.
  bool IsValueWhole() const { return depth_ == base_depth_; }

  void AddBool(bool value);
  void AddInt(int64_t value);
  void AddUint(uint64_t value);  // For integers of at least 2^63.
  void AddDouble(double value);
  void AddOther(JsonKind kind);  // `kind` is kJsonNull or kJsonObject.
  // AddTextPart and EndText add a text: first all its parts, then its end.
  // `kind` is kJsonText or kJsonBytes.
  void AddTextPart(std::string_view part);
  void EndText(JsonKind kind);

  // Starts a second pass, in which the same values are added again and written
  // to `output`. Fails unless the values added so far fit the output's form and
  // number. Precondition: no list is open.
  Status Begin(const ColumnOutput& output);

 private:
  void CountElement();
  // Counts a value. Returns whether the output has room for the value.
  bool Add(JsonKind kind);
  template <typename T>
  void Store(T value);
  void StoreNumber(uint64_t bits, double value);

  std::string name_;
  size_t base_depth_;
  size_t depth_ = 0;  // The number of open lists.
  std::vector<uint64_t> lengths_;
  std::vector<bool> has_length_;
  // For each open list, the number of its elements so far.
  std::vector<uint64_t> counts_;
  size_t rank_ = 0;
  bool has_rank_ = false;
  bool is_ragged_ = false;
  uint32_t kinds_ = 0;
  uint64_t value_count_ = 0;
  uint64_t text_bytes_ = 0;
  int64_t least_ = 0;
  uint64_t most_ = 0;
  ColumnOutput output_;
};

}  // namespace persia

#endif  // PERSIA_CC_JSON_COLUMN_H_
