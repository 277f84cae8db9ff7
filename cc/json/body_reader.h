// BodyReader: follows a JSON parser's events through a request's body, and
// finds the column that each value belongs to.

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

// Consumes the events of a whole JSON text, in order. Each method returns false
// if the body is not valid; then status() says why, and no method for an event
// may be called any more.
//
// Thread-safety: none.
class BodyReader {
 public:
  BodyReader() = default;
  // For a second pass over a body: `columns` are those of the first pass, each
  // after Column::Begin.
  explicit BodyReader(std::vector<Column> columns);

  bool BeginList();
  bool EndList();
  bool BeginObject();
  bool EndObject();
  bool AddNamePart(std::string_view part);
  bool EndName();
  bool AddTextPart(std::string_view part);
  bool EndText();
  // A value that is not a list or an object: `add(column)` adds it to its
  // column, if it has one.
  template <typename AddToColumn>
  bool AddValue(const AddToColumn& add) {
    bool is_wanted = false;
    if (!BeginValue(&is_wanted)) return false;
    if (!is_wanted) return true;
    add(column());
    return EndValue();
  }
  // After the last event.
  bool End();

  const Status& status() const { return status_; }
  const std::string& signature() const { return signature_; }
  bool in_rows() const { return in_rows_; }
  bool is_named() const { return naming_ == Naming::kNamed; }
  std::vector<Column> TakeColumns() { return std::move(columns_); }

 private:
  // The context of the next event.
  enum class Place {
    kOutside,
    kRequest,    // In the request's object: a name, or the end.
    kSignature,  // After "signature_name": its value.
    kRows,
    kColumns,
    kSkipped,
    kRow,        // In the list of rows: a row, or the end.
    kUndecided,  // In an object of inputs or bytes: the first name decides.
    kNames,      // In an object of inputs: a name, or the end.
    kValue,      // In a column's value: the value, or an element of its lists.
    kObject,     // In an object that is a value.
    kDone,
  };

  // Whether inputs have names, once that is known.
  enum class Naming { kUnknown, kNamed, kAlone };

  template <typename... Args>
  bool Fail(const Args&... args) {
    status_ = InvalidArgument(args...);
    return false;
  }
  bool FailRow();

  Column* column() { return &columns_[column_]; }
  // Call it before a value that is not a list or an object. `is_wanted`:
  // whether to add the value to column().
  bool BeginValue(bool* is_wanted);
  // Call it after adding a value, or a part of one, to column().
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
  size_t skipped_ = 0;  // Open lists and objects within the skipped value.
  bool has_examples_ = false;
  bool in_rows_ = false;
  bool has_signature_ = false;
  std::string signature_;
  Naming naming_ = Naming::kUnknown;
  uint64_t row_ = 0;
  size_t names_in_row_ = 0;
  std::string name_;  // What has been read of it.
  // For the object that is a value: whether it had bytes, whether its next text
  // is its bytes, whether it had anything else.
  bool has_bytes_ = false;
  bool are_bytes_next_ = false;
  bool has_more_ = false;
  std::vector<Column> columns_;
  // Per column: the last row that has it, plus 1.
  std::vector<uint64_t> last_rows_;
  std::map<std::string, size_t, std::less<>> by_name_;
  size_t column_ = 0;  // Of the current value.
};

}  // namespace persia

#endif  // PERSIA_CC_JSON_BODY_READER_H_
