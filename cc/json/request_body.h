// The body of a request for predictions, as TensorFlow Serving's REST API has
// it: a JSON object with examples in rows or in columns.
//
//   {"instances": [{"user": 3, "tags": ["a"]}, ...]}
//   {"inputs": {"user": [3, ...], "tags": [["a"], ...]}}
//
// The only input of a model goes without its name. `signature_name` is a text;
// other members are skipped. NaN, Infinity and -Infinity are numbers. An object
// within an example is bytes if its first name is "b64".
//
// It is read twice: once to see what is there, and once into memory that the
// caller then has room for. So reading takes no memory of its own but for
// names.

#ifndef PERSIA_CC_JSON_REQUEST_BODY_H_
#define PERSIA_CC_JSON_REQUEST_BODY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/json/column.h"

namespace persia {

class RequestBody {
 public:
  // Lists and objects within each other, of all kinds.
  static constexpr size_t kMaxDepth = 40;
  static constexpr size_t kMaxColumns = 4096;
  // Of a name; a signature's is cut there.
  static constexpr size_t kMaxNameBytes = 1024;

  // Sees what is there. `text` must outlive the result, and stay as it is.
  // Takes as long as the text is long, and no lock. Fails with
  // kInvalidArgument, and says where the body is not as it must be.
  static Result<RequestBody> Scan(std::string_view text);

  // The signature's name, "" if none is given.
  const std::string& signature() const { return signature_; }
  bool in_rows() const { return in_rows_; }
  // Whether columns have names; one without is the only one.
  bool is_named() const { return is_named_; }
  // One for each name in the order in which they came.
  const std::vector<Column>& columns() const { return columns_; }

  // Writes the values of all columns, each to its output; none has kNone,
  // unless it is empty. Fails with kInvalidArgument if one does not go there.
  Status Read(Span<const ColumnOutput> outputs) const;

 private:
  explicit RequestBody(std::string_view text) : text_(text) {}

  std::string_view text_;
  std::string signature_;
  bool in_rows_ = false;
  bool is_named_ = false;
  std::vector<Column> columns_;
};

}  // namespace persia

#endif  // PERSIA_CC_JSON_REQUEST_BODY_H_
