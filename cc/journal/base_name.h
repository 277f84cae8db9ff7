// The names of the bases in a journal's folder.
//
// Thread-safety: pure functions, except NewestBase, which waits for the storage
// device.

#ifndef PERSIA_CC_JOURNAL_BASE_NAME_H_
#define PERSIA_CC_JOURNAL_BASE_NAME_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cc/base/status.h"
#include "cc/files/file_system.h"

namespace persia {

// What a base's name has at its end until the base is complete.
inline constexpr char kUnfinishedBase[] = ".tmp";

std::string BaseName(uint64_t position);

// Whether a file of this name is a base, complete or not.
bool IsBaseName(const std::string& name);

// Returns the position of the newest complete base; nullopt if there is none.
Result<std::optional<uint64_t>> NewestBase(FileSystem* files,
                                           const std::string& folder);

}  // namespace persia

#endif  // PERSIA_CC_JOURNAL_BASE_NAME_H_
