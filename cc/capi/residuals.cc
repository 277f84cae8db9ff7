#include <memory>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/pipeline/residual_files.h"
#include "cc/pipeline/session.h"

using persia::ReportStatus;

struct persia_residuals {
  std::vector<std::vector<uint8_t>> files;
};

namespace persia {
namespace {

Status Save(const char* name, persia_residuals** residuals) {
  auto session = FindSession(name);
  if (!session.ok()) return session.status();
  auto files = (*session)->SaveResiduals();
  if (!files.ok()) return files.status();
  *residuals = new persia_residuals{std::move(*files)};
  return Status();
}

std::vector<ConstBytes> AllOf(const uint8_t* const* files,
                              const uint64_t* sizes, int count) {
  std::vector<ConstBytes> all;
  for (int i = 0; i < count; ++i) all.emplace_back(files[i], sizes[i]);
  return all;
}

Status Restore(const char* name, Span<const ConstBytes> files,
               uint64_t generation) {
  auto session = FindSession(name);
  if (!session.ok()) return session.status();
  return (*session)->RestoreResiduals(files, generation);
}

Status Count(Span<const ConstBytes> files, uint64_t* ids) {
  return CatchBadAlloc([&] {
    std::vector<TableResiduals> tables;
    PERSIA_RETURN_IF_ERROR(DecodeResiduals(files, &tables));
    *ids = 0;
    for (const TableResiduals& table : tables) *ids += table.ids.size();
    return Status();
  });
}

}  // namespace
}  // namespace persia

int persia_session_save_residuals(const char* name,
                                  persia_residuals** residuals) {
  return ReportStatus(persia::Save(name, residuals));
}

int persia_residuals_files(const persia_residuals* residuals) {
  return static_cast<int>(residuals->files.size());
}

const uint8_t* persia_residuals_file(const persia_residuals* residuals,
                                     int file, uint64_t* size) {
  *size = residuals->files[file].size();
  return residuals->files[file].data();
}

void persia_residuals_free(persia_residuals* residuals) { delete residuals; }

int persia_session_restore_residuals(const char* name,
                                     const uint8_t* const* files,
                                     const uint64_t* sizes, int count,
                                     uint64_t generation) {
  return ReportStatus(
      persia::Restore(name, persia::AllOf(files, sizes, count), generation));
}

int persia_residuals_count(const uint8_t* const* files, const uint64_t* sizes,
                           int count, uint64_t* ids) {
  return ReportStatus(persia::Count(persia::AllOf(files, sizes, count), ids));
}
