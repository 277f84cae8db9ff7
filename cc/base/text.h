// Functions that check and escape texts from other programs before errors, logs
// or metrics show them; and functions that split and join lists.

#ifndef PERSIA_CC_BASE_TEXT_H_
#define PERSIA_CC_BASE_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace persia {

// Returns whether `text` is UTF-8 without control characters (U+0000 to U+001F,
// U+007F to U+009F), and therefore safe to decode and to print to a terminal.
bool IsPlainText(std::string_view text);

// Returns the text in printable ASCII: every other byte, and "\", becomes \xhh.
std::string Escaped(std::string_view text);

// Splits a list at its commas: "a,b" becomes {"a", "b"}, and "" becomes {}.
std::vector<std::string> SplitAtCommas(const std::string& list);

std::string Join(const std::vector<std::string>& pieces, const char* between);

}  // namespace persia

#endif  // PERSIA_CC_BASE_TEXT_H_
