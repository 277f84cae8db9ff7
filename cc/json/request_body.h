// The body of a request for predictions, as TensorFlow Serving's REST API has
// it: a JSON object with examples in rows or in columns.
//
//   {"instances": [{"user": 3, "tags": ["a"]}, ...]}
//   {"inputs": {"user": [3, ...], "tags": [["a"], ...]}}
//
// A model's only input may go without its name. `signature_name` is a text;
// other members are skipped. NaN, Infinity and -Infinity are numbers. An object
// within an example is bytes if its first name is "b64".
//
// It is parsed twice: once to see what it contains, and once to write the
// values into memory that the caller has then allocated. So parsing allocates
// no memory except for names.

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
  // The nesting depth of lists and objects of all kinds.
  static constexpr size_t kMaxDepth = 40;
  static constexpr size_t kMaxColumns = 4096;
  // Per name, that of the signature included.
  static constexpr size_t kMaxNameBytes = 1024;

  // Parses the body to see what it contains. `text` must outlive the result,
  // unchanged. Takes time in proportion to the text's length, and no lock.
  // Fails with kInvalidArgument, saying what is wrong with the body.
  static Result<RequestBody> Scan(std::string_view text);

  // The signature's name, "" if none is given.
  const std::string& signature() const { return signature_; }
  bool in_rows() const { return in_rows_; }
  // Whether columns have names; a column without a name is the only one.
  bool is_named() const { return is_named_; }
  // One per name, in the order in which the names first appear.
  const std::vector<Column>& columns() const { return columns_; }

  // Writes the values of each column to its output, whose form may be kNone
  // only if the column has no values. Fails with kInvalidArgument if the values
  // do not fit the output.
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
