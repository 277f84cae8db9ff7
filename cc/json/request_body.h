// RequestBody: the body of a prediction request in the format of TensorFlow
// Serving's REST API. It is a JSON object with examples in rows ("instances")
// or in columns ("inputs").
//
//   {"instances": [{"user": 3, "tags": ["a"]}, ...]}
//   {"inputs": {"user": [3, ...], "tags": [["a"], ...]}}
//
// If a model has only one input, its name may be omitted. `signature_name` is a
// text; other members of the object are skipped. NaN, Infinity and -Infinity
// are numbers. An object within an example represents bytes if its first name
// is "b64".
//
// The body is parsed twice: first to determine its columns and their sizes, and
// then to write the values into memory that the caller has allocated in
// between. Parsing therefore allocates no memory except for names.

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
  // The deepest permitted nesting of lists and objects.
  static constexpr size_t kMaxDepth = 40;
  static constexpr size_t kMaxColumns = 4096;
  // The longest permitted name of an input or a signature.
  static constexpr size_t kMaxNameBytes = 1024;

  // Parses the body to determine its columns and their sizes. `text` must
  // outlive the result and must not change. The time is proportional to the
  // text's length, and no lock is taken. If the body is invalid, returns
  // kInvalidArgument with the reason.
  static Result<RequestBody> Scan(std::string_view text);

  // The signature's name, or "" if the body has none.
  const std::string& signature() const { return signature_; }
  bool in_rows() const { return in_rows_; }
  // Whether the columns have names. If not, there is only one column.
  bool is_named() const { return is_named_; }
  // The columns, one per name, in the order in which the names first appear.
  const std::vector<Column>& columns() const { return columns_; }

  // Writes the values of each column to its output. The output's form may be
  // kNone only if the column has no values. Returns kInvalidArgument if the
  // values do not fit the output.
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
