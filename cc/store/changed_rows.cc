#include "cc/store/changed_rows.h"

namespace persia {

void ChangedRows::MarkErased(int64_t id) {
  Noting([&] {
    if (erased_ == nullptr) {
      erased_ = std::make_unique<RowIndex>(meter_, RowIndex::AtLimit::kGrow);
    }
    if (erased_->Find(id) == RowIndex::kAbsent) erased_->Insert(id, 0);
  });
}

void ChangedRows::Merge(const ChangedRows& earlier, const RowIndex& index) {
  lost_ = lost_ || earlier.lost_;
  Noting([&] { rows_.AddAll(earlier.rows_); });
  if (earlier.erased_ == nullptr) return;
  earlier.erased_->Walk(0, earlier.erased_->size() + 1,
                        [&](int64_t id, RowIndex::Row) {
                          if (index.Find(id) == RowIndex::kAbsent) {
                            MarkErased(id);
                          }
                        });
}

void ChangedRows::AppendErased(std::vector<int64_t>* ids) const {
  if (erased_ == nullptr) return;
  erased_->Walk(0, erased_->size() + 1,
                [&](int64_t id, RowIndex::Row) { ids->push_back(id); });
}

size_t ChangedRows::bytes() const {
  return rows_.bytes() + (erased_ == nullptr ? 0 : erased_->bytes());
}

}  // namespace persia
