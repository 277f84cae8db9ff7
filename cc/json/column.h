// One input of a request for predictions, as it is parsed: values one by one,
// within lists.

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

// Kinds of values, as bit flags.
enum JsonKind : uint32_t {
  kJsonBool = 1,
  kJsonInteger = 2,  // 64 bits, signed or unsigned.
  kJsonFloat = 4,    // Other numbers, including NaN and the infinities.
  kJsonText = 8,
  kJsonBytes = 16,  // {"b64": "..."}
  kJsonNull = 32,
  kJsonObject = 64,  // Any other object.
};

// Where to write the values of a column, and in which form.
struct ColumnOutput {
  enum class Form : int {
    kNone = 0,
    kBools = 1,     // 1 byte each.
    kIntegers = 2,  // 8 bytes each: int64_t, or uint64_t from 2^63 on.
    kDoubles = 3,
    // `values` has the end of each text in `texts`, as a uint64_t;
    // `are_base64`, whether it is a kJsonBytes, whose base64 is copied
    // undecoded.
    kTexts = 4,
  };

  Form form = Form::kNone;
  void* values = nullptr;
  uint64_t value_count = 0;
  char* texts = nullptr;
  uint64_t text_bytes = 0;
  uint8_t* are_base64 = nullptr;
};

// The facts about a column, and a way to write its values. It stores no values,
// so it takes a few hundred bytes, whatever the column's size.
//
// Thread-safety: none.
class Column {
 public:
  // The most dimensions that every version of NumPy supports.
  static constexpr size_t kMaxRank = 32;

  // `in_rows`: the values are the elements, one per row, of a list that is open
  // from the beginning and ends with EndRows.
  Column(std::string name, bool in_rows);

  const std::string& name() const { return name_; }
  // A set of JsonKind bits; empty if the column has no value.
  uint32_t kinds() const { return kinds_; }
  // Whether sibling lists differ in length, values and lists are siblings, or
  // lists are nested deeper than kMaxRank.
  bool is_ragged() const { return is_ragged_; }
  // Precondition of the methods below: not is_ragged().
  Span<const uint64_t> shape() const;
  uint64_t value_count() const { return value_count_; }
  // The total length of all texts.
  uint64_t text_bytes() const { return text_bytes_; }
  // The minimum and maximum of the integers and 0.
  int64_t least() const { return least_; }
  uint64_t most() const { return most_; }

  void BeginList();
  void EndList();
  void EndRows() { EndList(); }
  // Whether the last value that was begun, a list or not, has ended.
  bool IsValueWhole() const { return depth_ == base_depth_; }

  void AddBool(bool value);
  void AddInt(int64_t value);
  void AddUint(uint64_t value);  // From 2^63 on.
  void AddDouble(double value);
  void AddOther(JsonKind kind);  // kJsonNull or kJsonObject.
  // A text's parts, then its end; `kind` is kJsonText or kJsonBytes.
  void AddTextPart(std::string_view part);
  void EndText(JsonKind kind);

  // Writes the values that are added from now on to `output`, as far as it has
  // room. Fails unless the values added so far fit its form and number.
  // Precondition: no list is open, and the same values are then added again.
  Status Begin(const ColumnOutput& output);

 private:
  void CountElement();
  // Counts a value. Returns whether the output has room for it.
  bool Add(JsonKind kind);
  template <typename T>
  void Store(T value);
  void StoreNumber(uint64_t bits, double value);

  std::string name_;
  size_t base_depth_;
  size_t depth_ = 0;  // Number of open lists.
  std::vector<uint64_t> lengths_;
  std::vector<bool> has_length_;
  std::vector<uint64_t> counts_;  // Elements so far of each open list.
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
