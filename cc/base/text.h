// For text from other programs that is shown in errors, logs and metrics.

#ifndef PERSIA_CC_BASE_TEXT_H_
#define PERSIA_CC_BASE_TEXT_H_

#include <string>
#include <string_view>

namespace persia {

// Whether it is UTF-8 without control characters (U+0000 to U+001F, U+007F to
// U+009F), and so safe to decode and to print to a terminal.
bool IsPlainText(std::string_view text);

// The text in printable ASCII: other bytes, and "\", become \xhh.
std::string Escaped(std::string_view text);

}  // namespace persia

#endif  // PERSIA_CC_BASE_TEXT_H_
