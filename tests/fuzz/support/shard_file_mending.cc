#include "tests/fuzz/support/shard_file_mending.h"

#include <algorithm>
#include <cstring>

#include "cc/base/byte_reader.h"
#include "cc/base/crc32c.h"
#include "cc/checkpoint/block.h"
#include "cc/store/table.h"
#include "cc/store/table_config_codec.h"

namespace persia {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kTypeAt = 0;
constexpr size_t kBodyBytesAt = 8;
constexpr size_t kBodyCrcAt = 16;
constexpr size_t kHeadCrcAt = 20;
// In a table's block: row bytes, use offset, state offset, time, scope.
constexpr size_t kConfigAt = 5 * sizeof(uint32_t);
constexpr size_t kCountBytes = sizeof(uint64_t);

template <typename T>
T NumberAt(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <typename T>
void Put(T value, uint8_t* bytes) {
  std::memcpy(bytes, &value, sizeof(value));
}

void AppendBlock(const uint8_t* head, const Bytes& body, Bytes* file) {
  const size_t at = file->size();
  file->insert(file->end(), head, head + kBlockHeadBytes);
  uint8_t* const mended = file->data() + at;
  Put<uint64_t>(body.size(), mended + kBodyBytesAt);
  Put(Crc32c(body.data(), body.size()), mended + kBodyCrcAt);
  Put(Crc32c(mended, kHeadCrcAt), mended + kHeadCrcAt);
  file->insert(file->end(), body.begin(), body.end());
}

// Calls mend(type, body) for each block; it may change the body. Bytes that are
// too few for a block stay as they are.
template <typename Mend>
Bytes MendBlocks(Span<const uint8_t> rest, const Mend& mend) {
  Bytes file;
  file.reserve(rest.size());
  while (rest.size() >= kBlockHeadBytes) {
    const uint8_t* const head = rest.data();
    rest = rest.subspan(kBlockHeadBytes);
    const size_t size = std::min<uint64_t>(
        NumberAt<uint64_t>(head + kBodyBytesAt), rest.size());
    Bytes body(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(size));
    rest = rest.subspan(size);
    mend(static_cast<BlockType>(NumberAt<uint32_t>(head + kTypeAt)), &body);
    AppendBlock(head, body, &file);
  }
  file.insert(file.end(), rest.begin(), rest.end());
  return file;
}

class CountMender {
 public:
  void operator()(BlockType type, Bytes* body) {
    switch (type) {
      case BlockType::kTable:
        return MendTable(body);
      case BlockType::kErased:
        erased_ += MendCount(0, body);
        return;
      case BlockType::kRows:
        rows_ += MendCount(row_bytes_, body);
        return;
      case BlockType::kEnd:
        body->resize(2 * kCountBytes);
        Put(rows_, body->data());
        Put(erased_, body->data() + kCountBytes);
        return;
      default:
        return;
    }
  }

 private:
  void MendTable(Bytes* body) {
    if (body->size() < kConfigAt) return;
    ByteReader reader(ConstBytes(*body).subspan(kConfigAt));
    TableConfig config;
    if (!ReadTableConfig(&reader, &config).ok() || reader.failed()) return;
    const auto layout = LayoutOf(config);
    if (!layout.ok()) return;
    row_bytes_ = layout->row_bytes;
    Put(static_cast<uint32_t>(layout->row_bytes), body->data());
    Put(static_cast<uint32_t>(layout->use_offset), body->data() + 4);
    Put(static_cast<uint32_t>(layout->state_offset), body->data() + 8);
  }

  // Sets the count to the number of ids, each with `bytes` more, that the body
  // has room for; returns it.
  static uint64_t MendCount(size_t bytes, Bytes* body) {
    const size_t each = sizeof(int64_t) + bytes;
    const uint64_t count =
        (std::max(body->size(), kCountBytes) - kCountBytes) / each;
    body->resize(kCountBytes + count * each);
    Put(count, body->data());
    return count;
  }

  size_t row_bytes_ = 0;
  uint64_t rows_ = 0;
  uint64_t erased_ = 0;
};

}  // namespace

Bytes WithChecksums(Span<const uint8_t> file) {
  return MendBlocks(file, [](BlockType, Bytes*) {});
}

Bytes WithCounts(Span<const uint8_t> file) {
  CountMender mender;
  return MendBlocks(file,
                    [&](BlockType type, Bytes* body) { mender(type, body); });
}

}  // namespace persia
