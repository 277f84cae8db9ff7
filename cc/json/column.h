// One input of a request for predictions, as it comes in: values one by one,
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

// Kinds of values, as bits.
enum JsonKind : uint32_t {
  kJsonBool = 1,
  kJsonInteger = 2,  // Of 64 bits, with or without a sign.
  kJsonFloat = 4,    // Other numbers, NaN and the infinities among them.
  kJsonText = 8,
  kJsonBytes = 16,  // {"b64": "..."}
  kJsonNull = 32,
  kJsonObject = 64,  // Any other one.
};

// Where the values of a column are written, and as what.
struct ColumnOutput {
  enum class Form : int {
    kNone = 0,
    kBools = 1,     // A byte each.
    kIntegers = 2,  // 8 bytes each: int64_t, or uint64_t from 2^63 on.
    kDoubles = 3,
    // `values` has where each ends in `texts`, `are_base64` whether it is one
    // of kJsonBytes, whose text is copied as it is.
    kTexts = 4,
  };

  Form form = Form::kNone;
  void* values = nullptr;
  uint64_t value_count = 0;
  char* texts = nullptr;
  uint64_t text_bytes = 0;
  uint8_t* are_base64 = nullptr;
};

// What is known of a column, and a way to write its values. Nothing of the
// values is kept, so a column takes some hundred bytes, whatever it has.
//
// Thread-safety: none.
class Column {
 public:
  // As many as every NumPy can have.
  static constexpr size_t kMaxRank = 32;

  // `in_rows`: it is a list from the beginning, one element a row, which
  // EndRows ends.
  Column(std::string name, bool in_rows);

  const std::string& name() const { return name_; }
  // Any number of kJson..., none if it has no value.
  uint32_t kinds() const { return kinds_; }
  // Whether lists beside each other had other lengths, or values and lists
  // stood beside each other; or there were more than kMaxRank in each other.
  bool is_ragged() const { return is_ragged_; }
  // Precondition of those below: not is_ragged().
  Span<const uint64_t> shape() const;
  uint64_t value_count() const { return value_count_; }
  // Of all texts together.
  uint64_t text_bytes() const { return text_bytes_; }
  // Of the integers and 0.
  int64_t least() const { return least_; }
  uint64_t most() const { return most_; }

  void BeginList();
  void EndList();
  void EndRows() { EndList(); }
  // Whether the value that began last, a list or not, has ended.
  bool IsValueWhole() const { return depth_ == base_depth_; }

  void AddBool(bool value);
  void AddInt(int64_t value);
  void AddUint(uint64_t value);  // From 2^63 on.
  void AddDouble(double value);
  void AddOther(JsonKind kind);  // kJsonNull or kJsonObject.
  // The parts of a text, and then its end; kJsonText or kJsonBytes.
  void AddTextPart(std::string_view part);
  void EndText(JsonKind kind);

  // Has the values that are added from now on written, until there is no more
  // room. Fails unless all the values that there were go into the form.
  // Precondition: nothing is open, and all of it is added once more.
  Status Begin(const ColumnOutput& output);

 private:
  void CountElement();
  // Counts a value; whether it has its place in the output.
  bool Add(JsonKind kind);
  template <typename T>
  void Store(T value);
  void StoreNumber(uint64_t bits, double value);

  std::string name_;
  size_t base_depth_;
  size_t depth_ = 0;  // Lists that are open.
  std::vector<uint64_t> lengths_;
  std::vector<bool> has_length_;
  std::vector<uint64_t> counts_;  // Of those that are open, so far.
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
