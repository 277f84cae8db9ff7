// ReadOption: parses the value of a server option from text; see persia_option.

#ifndef PERSIA_CC_CAPI_OPTION_TEXT_H_
#define PERSIA_CC_CAPI_OPTION_TEXT_H_

#include <charconv>
#include <limits>
#include <string>
#include <type_traits>

#include "cc/base/status.h"
#include "cc/log/log_format.h"
#include "cc/shard/local_service.h"
#include "cc/writing/journal_records.h"

namespace persia {

// Parses `text` into *value. If the option cannot have this value, returns
// kInvalidArgument with the option's name, the permitted values and the text.
Status ReadOption(const std::string& name, const std::string& text,
                  std::string* value);
Status ReadOption(const std::string& name, const std::string& text,
                  bool* value);
Status ReadOption(const std::string& name, const std::string& text,
                  double* value);
Status ReadOption(const std::string& name, const std::string& text,
                  RecoveryLevel* value);
Status ReadOption(const std::string& name, const std::string& text,
                  SyncMode* value);
Status ReadOption(const std::string& name, const std::string& text,
                  Acknowledge* value);

template <typename Integer,
          typename = std::enable_if_t<std::is_integral_v<Integer>>>
Status ReadOption(const std::string& name, const std::string& text,
                  Integer* value) {
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, *value);
  if (read.ec == std::errc() && read.ptr == end) return Status();
  using Limits = std::numeric_limits<Integer>;
  return InvalidArgument(name, " must be an integer from ", Limits::min(),
                         " to ", Limits::max(), ", received ", text);
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_OPTION_TEXT_H_
