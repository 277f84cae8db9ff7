// BodyReader: receives a JSON parser's events for the body of a prediction
// request, and assigns each value to its column (a model input).

#ifndef PERSIA_CC_JSON_BODY_READER_H_
#define PERSIA_CC_JSON_BODY_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/json/column.h"

namespace persia {

// Processes the events of a whole JSON text in order. A method returns false if
// the body is not a valid request; status() then has the reason, and no further
// event method may be called.
//
// Not thread-safe.
class BodyReader {
 public:
  BodyReader() = default;
  // Reads a body for the second time. `columns` are the columns of the first
  // pass, and Column::Begin was called on each of them.
  explicit BodyReader(std::vector<Column> columns);

  bool BeginList();
  bool EndList();
  bool BeginObject();
  bool EndObject();
  bool AddNamePart(std::string_view part);
  bool EndName();
  bool AddTextPart(std::string_view part);
  bool EndText();
  // Processes a value that is neither a list nor an object. If the value
  // belongs to a column, `add(column)` must add it there.
  template <typename AddToColumn>
  bool AddValue(const AddToColumn& add) {
    bool is_wanted = false;
    if (!BeginValue(&is_wanted)) return false;
    if (!is_wanted) return true;
    add(column());
    return EndValue();
  }
  // Call this after the last event. It returns false if the body has no
  // examples.
  bool End();

  const Status& status() const { return status_; }
  const std::string& signature() const { return signature_; }
  bool in_rows() const { return in_rows_; }
  bool is_named() const { return naming_ == Naming::kNamed; }
  std::vector<Column> TakeColumns() { return std::move(columns_); }

 private:
  // The part of the body in which the next event occurs.
  enum class Place {
    kOutside,
    // Inside the request's object, before a name or the object's end.
    kRequest,
    kSignature,  // After the name "signature_name", before its value.
    kRows,
    kColumns,
    kSkipped,
    kRow,  // Inside the list of rows, before a row or the list's end.
    // Inside an object whose first name decides whether it has inputs or bytes.
    kUndecided,
    kNames,  // Inside an object of inputs, before a name or the object's end.
    // Inside a column's value, before the value or an element of its lists.
    kValue,
    kObject,  // Inside an object that is itself a value.
    kDone,
  };

  // Whether the inputs have names, or there is only one input and it has no
  // name. Unknown until the first input is read.
  enum class Naming { kUnknown, kNamed, kAlone };

  template <typename... Args>
  bool Fail(const Args&... args) {
    status_ = InvalidArgument(args...);
    return false;
  }
  bool FailRow();

  Column* column() { return &columns_[column_]; }
  // Call this before a value that is neither a list nor an object. Sets
  // `is_wanted` to whether the value must be added to column().
  bool BeginValue(bool* is_wanted);
  // Call this after adding a value, or a part of a value, to column().
  bool EndValue();
  bool EndNames();
  bool BeginMember();
  bool BeginAlone();
  bool BeginNamed();
  bool Decide(Naming naming);
  bool FindColumn();
  void BeginBytesOrObject(bool are_bytes);

  Status status_;
  bool rereads_ = false;
  Place place_ = Place::kOutside;
  // The number of open lists and objects in a skipped value.
  size_t skipped_ = 0;
  bool has_examples_ = false;
  bool in_rows_ = false;
  bool has_signature_ = false;
  std::string signature_;
  Naming naming_ = Naming::kUnknown;
  uint64_t row_ = 0;
  size_t names_in_row_ = 0;
  std::string name_;  // The part of the current name that was read so far.
  // The state while a JSON object in the place of a value is read. An object
  // that has only a text named b64 stands for bytes. are_bytes_next_: this name
  // was just read, so a text that follows is the bytes. has_bytes_: that text
  // was read. has_more_: the object contains anything else, so it does not
  // stand for bytes.
  bool has_bytes_ = false;
  bool are_bytes_next_ = false;
  bool has_more_ = false;
  std::vector<Column> columns_;
  // For each column, the number of the last row that has it, counted from 1.
  std::vector<uint64_t> last_rows_;
  std::map<std::string, size_t, std::less<>> by_name_;
  // The index in columns_ of the column that the current value belongs to.
  size_t column_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_JSON_BODY_READER_H_
