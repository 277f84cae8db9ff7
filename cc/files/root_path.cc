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

// Returns whether both paths lead to the same folder. If a folder does not
// exist, compares the paths as text.
bool AreSame(const fs::path& path, const fs::path& root) {
  std::error_code error;
  if (fs::equivalent(path, root, error)) return true;
  return path == fs::absolute(root, error).lexically_normal();
}

// Finds the shortest prefix of an absolute path that leads to the root, and
// sets `rest` to the names after it. Returns false if no prefix leads to the
// root.
bool StripRoot(const fs::path& path, const fs::path& root, fs::path* rest) {
  fs::path before;
  for (auto part = path.begin(); part != path.end(); ++part) {
    before /= *part;
    if (!AreSame(before, root)) continue;
    for (++part; part != path.end(); ++part) *rest /= *part;
    return true;
  }
  return false;
}

// Removes repeated slashes, and a slash at the end.
fs::path WithoutSlashes(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

Status NotWithin(const std::string& name) {
  return InvalidArgument(
      "a checkpoint's path must be within the server's checkpoint root, "
      "received \"",
      name, "\"");
}

// Precondition: `root` is a URL, or `root` is "/" and `name` is a URL.
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
  if (root.empty()) {
    return Status(Code::kFailedPrecondition,
                  "this process keeps no checkpoints: start it with "
                  "--checkpoint-root FOLDER");
  }
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
  const std::string folder = RootFolder(root);
  fs::path rest = WithoutSlashes(name);
  if (rest.is_absolute()) {
    fs::path below;
    if (!StripRoot(rest, folder, &below)) return NotWithin(name);
    rest = below;
  }
  return rest.empty() ? folder : (fs::path(folder) / rest).string();
}

std::string RootFolder(const std::string& root) {
  const size_t last = root.find_last_not_of('/');
  return last == std::string::npos ? "/" : root.substr(0, last + 1);
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
