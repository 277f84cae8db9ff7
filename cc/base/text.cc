#include "cc/base/text.h"

#include <cstdint>
#include <sstream>

namespace persia {
namespace {

bool IsControl(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

// Returns the length in bytes of a UTF-8 character whose first byte is `first`,
// or 0 if no character starts with that byte.
size_t LengthFrom(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

// Returns whether UTF-8 may encode the code point in `length` bytes: the
// encoding is the shortest, and the point is no surrogate and at most U+10FFFF.
bool IsOf(uint32_t point, size_t length) {
  if (length == 3) return point >= 0x800 && (point < 0xd800 || point > 0xdfff);
  if (length == 4) return point >= 0x10000 && point <= 0x10ffff;
  return true;
}

// Removes the first character from `text`. Returns false if this character is
// malformed or a control character.
bool TakePlain(std::string_view* text) {
  const auto first = static_cast<uint8_t>(text->front());
  const size_t length = LengthFrom(first);
  if (length == 0 || length > text->size()) return false;
  uint32_t point = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>((*text)[i]);
    if ((byte & 0xc0) != 0x80) return false;
    point = point << 6 | (byte & 0x3f);
  }
  text->remove_prefix(length);
  return IsOf(point, length) && !IsControl(point);
}

}  // namespace

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    if (!TakePlain(&text)) return false;
  }
  return true;
}

std::string Escaped(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string escaped;
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f && c != '\\') {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    escaped += "\\x";
    escaped += kDigits[byte >> 4];
    escaped += kDigits[byte & 15];
  }
  return escaped;
}

std::vector<std::string> SplitAtCommas(const std::string& list) {
  std::vector<std::string> pieces;
  std::istringstream stream(list);
  for (std::string piece; std::getline(stream, piece, ',');) {
    pieces.push_back(piece);
  }
  return pieces;
}

std::string Join(const std::vector<std::string>& pieces, const char* between) {
  std::string joined;
  for (const std::string& piece : pieces) {
    joined += (joined.empty() ? "" : between) + piece;
  }
  return joined;
}

}  // namespace persia
