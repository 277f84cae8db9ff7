#include "cc/base/number.h"

#include <charconv>

namespace persia {
namespace {

template <typename T>
std::string ShortestText(T value) {
  if (value == 0) return "0";
  char text[32];  // The text of a double has at most 24 characters.
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

}  // namespace

std::string NumberText(double value) { return ShortestText(value); }
std::string NumberText(float value) { return ShortestText(value); }

}  // namespace persia
