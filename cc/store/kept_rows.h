// KeptRows: what makes a frozen sub-shard look as it was.
//
// A reader goes through the sub-shard in the order of the ids' hashes, while it
// is used. Whoever is about to change a row that the reader has not come to
// keeps a copy of it first; a row that was created since is noted as none. So
// it costs memory only for rows that change before they are read.
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_KEPT_ROWS_H_
#define PERSIA_CC_STORE_KEPT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "cc/base/hash.h"

namespace persia {

class KeptRows {
 public:
  explicit KeptRows(size_t row_bytes) : row_bytes_(row_bytes) {}

  // A row that is about to change or to go. Does nothing for one that was read,
  // or kept before.
  void Keep(int64_t id, const std::byte* row) {
    if (!ended_ && !failed_ && HashId(id) >= next_) Add(id, row);
  }

  // A row that was not there when the sub-shard was frozen.
  void KeepAbsent(int64_t id) { Keep(id, nullptr); }

  // Whether the row in the sub-shard is another one now.
  bool Has(int64_t id) const { return rows_.count(HashId(id)) > 0; }

  // The reader has come to hash `next`; 0: to the end. Gives what was kept of
  // the rows before it. take: void(int64_t id, const std::byte* row)
  template <typename Take>
  void ReadTo(uint64_t next, const Take& take);

  bool ended() const { return ended_; }
  // Where the reader goes on.
  uint64_t next() const { return next_; }

  // There was no memory to keep a row: what it was is lost.
  bool failed() const { return failed_; }

 private:
  struct Kept {
    int64_t id;
    std::unique_ptr<std::byte[]> row;  // Null: it was not there.
  };

  void Add(int64_t id, const std::byte* row);

  size_t row_bytes_;
  uint64_t next_ = 0;
  bool ended_ = false;
  bool failed_ = false;
  std::map<uint64_t, Kept> rows_;  // By the id's hash, which no other id has.
};

template <typename Take>
void KeptRows::ReadTo(uint64_t next, const Take& take) {
  const auto end = next == 0 ? rows_.end() : rows_.lower_bound(next);
  for (auto kept = rows_.begin(); kept != end; ++kept) {
    const Kept& was = kept->second;
    if (was.row != nullptr) take(was.id, was.row.get());
  }
  rows_.erase(rows_.begin(), end);
  next_ = next;
  ended_ = next == 0;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_KEPT_ROWS_H_
