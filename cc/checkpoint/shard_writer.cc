#include <algorithm>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/checkpoint/shard_file_writer.h"

namespace persia {
namespace {

// The size of a block of rows: large enough to use the storage device's full
// speed, and small enough to stay in the CPU's cache.
constexpr size_t kRowsBlockBytes = size_t{1} << 20;

class ShardWriter {
 public:
  ShardWriter(std::unique_ptr<WritableFile> file, ShardProgress* progress)
      : file_(std::move(file), progress), progress_(*progress) {}

  Status Write(const ShardHeader& header, const std::vector<SavedTable>& tables,
               const std::vector<ClientWindow>& clients) {
    PERSIA_RETURN_IF_ERROR(file_.Begin(header));
    for (const SavedTable& table : tables) {
      PERSIA_RETURN_IF_ERROR(file_.AddTable(table.head));
      if (table.head.scope == SaveScope::kChanges) {
        PERSIA_RETURN_IF_ERROR(WriteErased(table));
      }
      PERSIA_RETURN_IF_ERROR(WriteRows(table));
    }
    return file_.Finish(clients);
  }

 private:
  Status CheckNotCancelled() const {
    if (!progress_.cancelled) return Status();
    return Status(Code::kCancelled, "the save was cancelled");
  }

  // Writes the erased ids as several blocks, because one call of ReadErased may
  // return more ids than a block can hold.
  Status WriteErased(const SavedTable& table) {
    constexpr size_t kIds = kRowsBlockBytes / sizeof(int64_t);
    std::vector<int64_t> ids;
    for (bool more = true; more;) {
      PERSIA_RETURN_IF_ERROR(CheckNotCancelled());
      more = table.rows->ReadErased(&ids);
      const size_t ready = more ? ids.size() / kIds * kIds : ids.size();
      const Span<const int64_t> all(ids);
      for (size_t at = 0; at < ready; at += kIds) {
        PERSIA_RETURN_IF_ERROR(
            file_.AddErased(all.subspan(at, std::min(kIds, ready - at))));
      }
      ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(ready));
    }
    return Status();
  }

  Status WriteRows(const SavedTable& table) {
    const size_t each = table.head.layout.row_bytes + sizeof(int64_t);
    const size_t count = std::max<size_t>(1, kRowsBlockBytes / each);
    RawRows rows;
    for (bool more = true; more;) {
      PERSIA_RETURN_IF_ERROR(CheckNotCancelled());
      rows.clear();
      auto read = table.rows->Read(count, &rows);
      if (!read.ok()) return read.status();
      more = *read;
      if (rows.ids.empty()) continue;
      PERSIA_RETURN_IF_ERROR(file_.AddRows(rows.ids, rows.bytes));
    }
    return Status();
  }

  ShardFileWriter file_;
  const ShardProgress& progress_;
};

}  // namespace

Status WriteShard(FileSystem* files, const std::string& path,
                  const ShardHeader& header,
                  const std::vector<SavedTable>& tables,
                  const std::vector<ClientWindow>& clients,
                  ShardProgress* progress) {
  return CatchBadAlloc([&]() -> Status {
    auto file = files->CreateLarge(path);
    if (!file.ok()) return file.status();
    return ShardWriter(std::move(*file), progress)
        .Write(header, tables, clients);
  });
}

}  // namespace persia
