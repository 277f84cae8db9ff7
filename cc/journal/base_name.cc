#include "cc/journal/base_name.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace persia {
namespace {

constexpr char kPrefix[] = "base-";
constexpr size_t kPrefixSize = sizeof(kPrefix) - 1;

// Returns the position of the complete base with this file name, or nullopt if
// no complete base can have this name.
std::optional<uint64_t> PositionOf(const std::string& name) {
  if (!IsBaseName(name)) return std::nullopt;
  const uint64_t position =
      std::strtoull(name.c_str() + kPrefixSize, nullptr, 16);
  if (BaseName(position) != name) return std::nullopt;
  return position;
}

}  // namespace

std::string BaseName(uint64_t position) {
  char name[32];
  std::snprintf(name, sizeof(name), "%s%016" PRIx64, kPrefix, position);
  return name;
}

bool IsBaseName(const std::string& name) {
  return name.compare(0, kPrefixSize, kPrefix) == 0;
}

Result<std::optional<uint64_t>> NewestBase(FileSystem* files,
                                           const std::string& folder) {
  const auto names = files->List(folder);
  if (!names.ok()) return names.status();
  std::optional<uint64_t> newest;
  for (const std::string& name : *names) {
    newest = std::max(newest, PositionOf(name));
  }
  return newest;
}

}  // namespace persia
