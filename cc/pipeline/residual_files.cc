#include "cc/pipeline/residual_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cc/base/byte_reader.h"
#include "cc/base/byte_writer.h"
#include "cc/base/crc32c.h"

namespace persia {
namespace {

constexpr uint32_t kMagic = 0x31525250;
constexpr size_t kFileHeadBytes = 8;
constexpr size_t kPartHeadBytes = 16;

Status Damaged(const char* why) { return Status(Code::kDataLoss, why); }

uint64_t BytesOfId(const TableResiduals& table) {
  return sizeof(int64_t) + uint64_t{table.dim} * sizeof(float);
}

// Joins parts to files.
class FilesWriter {
 public:
  explicit FilesWriter(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  void Add(const TableResiduals& table) {
    for (size_t first = 0; first < table.ids.size();) {
      const uint64_t room = RoomFor(table);
      if (room == 0) {
        EndFile();
        continue;
      }
      const size_t count = std::min(room, table.ids.size() - first);
      AddPart(table, first, count);
      first += count;
    }
  }

  std::vector<std::vector<uint8_t>> Take() {
    EndFile();
    return std::move(files_);
  }

 private:
  // How many ids of the table fit into the file.
  uint64_t RoomFor(const TableResiduals& table) const {
    const uint64_t used =
        kFileHeadBytes + part_.size() + kPartHeadBytes + ByteWriter::kAlignment;
    if (used >= most_bytes_) return 0;
    return (most_bytes_ - used) / BytesOfId(table);
  }

  void AddPart(const TableResiduals& table, size_t first, size_t count) {
    part_.U64(table.table);
    part_.U32(table.dim);
    part_.U32(static_cast<uint32_t>(count));
    part_.Copy(&table.ids[first], count * sizeof(int64_t));
    part_.Copy(&table.values[first * table.dim],
               count * table.dim * sizeof(float));
    const ConstBytes padding = ByteWriter::PaddingAt(part_.size());
    part_.Copy(padding.data(), padding.size());
  }

  void EndFile() {
    if (part_.size() == 0) return;
    const std::vector<uint8_t> parts = part_.Take();
    ByteWriter file;
    file.U32(kMagic);
    file.U32(Crc32c(parts.data(), parts.size()));
    file.Copy(parts.data(), parts.size());
    files_.push_back(file.Take());
  }

  const uint64_t most_bytes_;
  ByteWriter part_;
  std::vector<std::vector<uint8_t>> files_;
};

Status ReadParts(ConstBytes bytes, std::map<TableKey, TableResiduals>* tables) {
  ByteReader reader(bytes);
  size_t rest = bytes.size();
  while (rest > 0) {
    const TableKey key = reader.U64();
    const uint32_t dim = reader.U32();
    const uint32_t count = reader.U32();
    const Span<const int64_t> ids = reader.Array<int64_t>(count);
    const auto values = reader.Array<float>(uint64_t{count} * dim);
    reader.SkipPadding();
    if (reader.failed()) return Damaged("it ends within a table");
    TableResiduals& table = (*tables)[key];
    if (dim == 0 || (table.dim != 0 && table.dim != dim)) {
      return Damaged("a table has two dims, or none");
    }
    table.table = key;
    table.dim = dim;
    table.ids.insert(table.ids.end(), ids.begin(), ids.end());
    table.values.insert(table.values.end(), values.begin(), values.end());
    const size_t part = kPartHeadBytes + ids.size_bytes() + values.size_bytes();
    rest -= part + ByteWriter::PaddingAt(part).size();
  }
  return Status();
}

Status ReadFile(ConstBytes file, std::map<TableKey, TableResiduals>* tables) {
  ByteReader head(file);
  if (head.U32() != kMagic) return Damaged("it does not begin as one");
  const uint32_t crc = head.U32();
  if (head.failed()) return Damaged("it is too short");
  // A copy, whose numbers are at multiples of their sizes.
  const std::vector<uint8_t> parts(file.begin() + kFileHeadBytes, file.end());
  if (Crc32c(parts.data(), parts.size()) != crc) {
    return Damaged("its checksum differs");
  }
  return ReadParts(parts, tables);
}

}  // namespace

std::vector<std::vector<uint8_t>> EncodeResiduals(
    const std::vector<TableResiduals>& tables, uint64_t most_bytes) {
  FilesWriter writer(most_bytes);
  for (const TableResiduals& table : tables) writer.Add(table);
  return writer.Take();
}

Status DecodeResiduals(Span<const ConstBytes> files,
                       std::vector<TableResiduals>* tables) {
  std::map<TableKey, TableResiduals> read;
  for (size_t i = 0; i < files.size(); ++i) {
    const Status status = ReadFile(files[i], &read);
    if (status.ok()) continue;
    return Status(status.code(),
                  Concat("file ", i, " of ", files.size(),
                         " with residuals is damaged: ", status.message()));
  }
  tables->clear();
  for (auto& [key, table] : read) tables->push_back(std::move(table));
  return Status();
}

}  // namespace persia
