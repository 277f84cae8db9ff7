#include "cc/store/kept_rows.h"

#include <new>
#include <utility>

namespace persia {

void KeptRows::Add(int64_t id, const std::byte* row) {
  try {
    if (chunks_.empty() || chunks_.back().ids.size() == chunk_rows_) AddChunk();
    Chunk& chunk = chunks_.back();
    chunk.rows.insert(chunk.rows.end(), row, row + row_bytes_);
    chunk.ids.push_back(id);
  } catch (const std::bad_alloc&) {
    Fail();
  }
}

void KeptRows::Expect(uint32_t place, int64_t id, Row row) {
  try {
    if (MustAdd(id, row)) expected_.push_back(place);
  } catch (const std::bad_alloc&) {
    Fail();
  }
}

void KeptRows::AddExpected(Span<const int64_t> ids, std::byte* const* rows,
                           size_t end) {
  for (; next_expected_ < expected_.size() && expected_[next_expected_] < end;
       ++next_expected_) {
    const uint32_t place = expected_[next_expected_];
    Add(ids[place], rows[place]);
  }
}

bool KeptRows::Replace(Row row) {
  try {
    replaced_.Add(row);
    return true;
  } catch (const std::bad_alloc&) {
    Fail();
    return false;
  }
}

void KeptRows::AddChunk() {
  metered_.Grow(chunk_bytes(), [&] {
    Chunk chunk;
    chunk.ids.reserve(chunk_rows_);
    chunk.rows.reserve(chunk_rows_ * row_bytes_);
    chunks_.push_back(std::move(chunk));
  });
}

void KeptRows::Fail() {
  failed_ = true;
  metered_.Shrink(chunks_.size() * chunk_bytes());
  chunks_.clear();
  expected_.clear();
}

}  // namespace persia
