#include "cc/files/url.h"

#include <algorithm>
#include <string_view>

namespace persia {
namespace {

constexpr std::string_view kMark = "://";

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

bool IsScheme(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetterOrDigit(c) || c == '+' || c == '-' || c == '.';
  });
}

bool IsName(std::string_view text) {
  if (text.empty() || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetterOrDigit(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("-_.=+,@ ").find(c) != std::string_view::npos;
  });
}

// Returns whether `text` can be a bucket, or a host with or without a port.
bool IsAuthority(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), ':', '-');
  return IsName(name);
}

bool AreNames(std::string_view text) {
  while (true) {
    const size_t slash = text.find('/');
    if (!IsName(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

bool IsUrl(const std::string& path) {
  return path.find(kMark) != std::string::npos;
}

Status CheckUrl(const std::string& url) {
  const std::string_view text = url;
  const size_t mark = std::min(text.find(kMark), text.size());
  const std::string_view rest =
      text.substr(std::min(mark + kMark.size(), text.size()));
  const size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  if (authority.find(':') < authority.rfind('@') &&
      authority.rfind('@') != std::string_view::npos) {
    return InvalidArgument(
        "a URL must not contain a password: pass it to the storage's library, "
        "through its environment variables or files");
  }
  if (IsScheme(text.substr(0, mark)) && IsAuthority(authority) &&
      (slash == std::string_view::npos || AreNames(rest.substr(slash + 1)))) {
    return Status();
  }
  return InvalidArgument(
      "a URL must be SCHEME://BUCKET/NAME/... with names of letters, digits, "
      "spaces and \"-_.=+,@\", which are not \".\" or \"..\", received \"",
      url, "\"");
}

}  // namespace persia
