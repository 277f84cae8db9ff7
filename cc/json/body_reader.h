// Follows the events of a JSON parser through the body of a request: which
// column a value is of.

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

// The events of a whole JSON text, in their order. Each returns false if the
// body is not as it must be, and status() says how; none may come after that.
//
// Thread-safety: none.
class BodyReader {
 public:
  BodyReader() = default;
  // Reads a body once more, which has these columns, each begun.
  explicit BodyReader(std::vector<Column> columns);

  bool BeginList();
  bool EndList();
  bool BeginObject();
  bool EndObject();
  bool AddNamePart(std::string_view part);
  bool EndName();
  bool AddTextPart(std::string_view part);
  bool EndText();
  // Another value: `add(column)` adds it to the column that it is of, if any.
  template <typename AddToColumn>
  bool AddValue(const AddToColumn& add) {
    bool is_wanted = false;
    if (!BeginValue(&is_wanted)) return false;
    if (!is_wanted) return true;
    add(column());
    return EndValue();
  }
  // After the last one.
  bool End();

  const Status& status() const { return status_; }
  const std::string& signature() const { return signature_; }
  bool in_rows() const { return in_rows_; }
  bool is_named() const { return naming_ == Naming::kNamed; }
  std::vector<Column> TakeColumns() { return std::move(columns_); }

 private:
  // What stands around the next event.
  enum class Place {
    kOutside,
    kRequest,    // Among the request's members: a name, or the end.
    kSignature,  // After the name of a member: its value.
    kRows,
    kColumns,
    kSkipped,
    kRow,        // In the list of rows: a row, or the end.
    kUndecided,  // In an object of names or bytes: its first name says which.
    kNames,      // In an object of inputs: a name, or the end.
    kValue,      // In a value of a column: the value, or what is in its lists.
    kObject,     // In an object in a value's place.
    kDone,
  };

  // Whether inputs come with their names, once that is seen.
  enum class Naming { kUnknown, kNamed, kAlone };

  template <typename... Args>
  bool Fail(const Args&... args) {
    status_ = InvalidArgument(args...);
    return false;
  }
  bool FailRow();

  Column* column() { return &columns_[column_]; }
  // Before a value that is no list, object or text of a name: `is_wanted`,
  // whether column() gets it.
  bool BeginValue(bool* is_wanted);
  // After a value, or a part of one, was added to column().
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
  size_t skipped_ = 0;  // Lists and objects that are open within what is.
  bool has_examples_ = false;
  bool in_rows_ = false;
  bool has_signature_ = false;
  std::string signature_;
  Naming naming_ = Naming::kUnknown;
  uint64_t row_ = 0;
  size_t names_in_row_ = 0;
  std::string name_;  // As far as it has come.
  // Of the object in a value's place: whether it had bytes, whether its next
  // text is them, whether it had anything else.
  bool has_bytes_ = false;
  bool are_bytes_next_ = false;
  bool has_more_ = false;
  std::vector<Column> columns_;
  std::vector<uint64_t> last_rows_;  // By column: the last that has it, plus 1.
  std::map<std::string, size_t, std::less<>> by_name_;
  size_t column_ = 0;  // Of the value that is read.
};

}  // namespace persia

#endif  // PERSIA_CC_JSON_BODY_READER_H_
