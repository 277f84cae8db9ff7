// TextOrNone: converts an optional C string to a std::string.

#ifndef PERSIA_CC_CAPI_TEXT_H_
#define PERSIA_CC_CAPI_TEXT_H_

#include <string>

namespace persia {

// Returns an empty string if `text` is NULL.
inline std::string TextOrNone(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_TEXT_H_
