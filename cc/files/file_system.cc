#include "cc/files/file_system.h"

namespace persia {

Status WritableFile::Finish() {
  PERSIA_RETURN_IF_ERROR(Sync());
  return Close();
}

Status FileSystem::WriteWhole(const std::string& path,
                              Span<const uint8_t> bytes) {
  const std::string unfinished = path + ".tmp";
  auto file = Create(unfinished);
  if (!file.ok()) return file.status();
  PERSIA_RETURN_IF_ERROR((*file)->Append(bytes));
  PERSIA_RETURN_IF_ERROR((*file)->Finish());
  return Rename(unfinished, path);
}

}  // namespace persia
