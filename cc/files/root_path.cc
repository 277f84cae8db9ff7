#include "cc/files/root_path.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cc/files/url.h"

namespace persia {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 4096;

bool IsText(char c) { return c >= ' ' && c != 0x7f; }

bool HasDots(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
    return part == "." || part == "..";
  });
}

bool IsUnder(const fs::path& path, const fs::path& root) {
  const auto [in_root, in_path] =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return in_root == root.end();
}

// As far as it is there, without links.
Result<fs::path> Real(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  if (error) {
    return InvalidArgument("a checkpoint's path cannot be resolved: ",
                           error.message());
  }
  return real;
}

Status NotWithin(const std::string& name) {
  return InvalidArgument(
      "a checkpoint's path must be within the server's checkpoint root, "
      "received \"",
      name, "\"");
}

// `root` is a URL; or "/", and `name` is one.
Result<std::string> UrlWithin(std::string root, const std::string& name) {
  while (!root.empty() && root.back() == '/') root.pop_back();
  std::string url = name;
  if (!IsUrl(name)) {
    url = root + "/" + name;
  } else if (!root.empty() && name != root &&
             name.compare(0, root.size() + 1, root + "/") != 0) {
    return NotWithin(name);
  }
  PERSIA_RETURN_IF_ERROR(CheckUrl(url));
  return url;
}

}  // namespace

Result<std::string> PathWithin(const std::string& root,
                               const std::string& name) {
  if (name.empty() || name.size() > kMostBytes ||
      !std::all_of(name.begin(), name.end(), IsText)) {
    return InvalidArgument("a checkpoint's path must be 1 to ", kMostBytes,
                           " characters of text, received ", name.size());
  }
  if (HasDots(name)) {
    return InvalidArgument(
        "a checkpoint's path must not contain \".\" or \"..\", received \"",
        name, "\"");
  }
  if (IsUrl(root) || (root == "/" && IsUrl(name))) {
    return UrlWithin(root, name);
  }
  if (IsUrl(name)) return NotWithin(name);
  const Result<fs::path> real_root = Real(root);
  if (!real_root.ok()) return real_root.status();
  // An absolute name replaces the root.
  const Result<fs::path> real = Real(fs::path(root) / name);
  if (!real.ok()) return real.status();
  if (!IsUnder(*real, *real_root)) return NotWithin(name);
  return real->string();
}

Result<std::vector<std::string>> PathsWithin(
    const std::string& root, const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    auto path = PathWithin(root, name);
    if (!path.ok()) return path.status();
    paths.push_back(std::move(*path));
  }
  return paths;
}

}  // namespace persia
