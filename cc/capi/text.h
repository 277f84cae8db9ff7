// Texts, as the C interface accepts them.

#ifndef PERSIA_CC_CAPI_TEXT_H_
#define PERSIA_CC_CAPI_TEXT_H_

#include <string>

namespace persia {

// NULL stands for an empty text.
inline std::string TextOrNone(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_TEXT_H_
