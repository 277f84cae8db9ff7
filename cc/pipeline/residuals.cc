#include "cc/pipeline/residuals.h"

#include <algorithm>
#include <new>

#include "cc/wire/int4.h"

namespace persia {
namespace {

// Each residual has an epoch of at least 1, so RowCache tells these from
// forgotten ones.
constexpr uint64_t kAll = 1;

}  // namespace

uint64_t Residuals::FeedBack(const Gradients& of, Span<float> sums) {
  const size_t dim = of.dim;
  std::lock_guard<std::mutex> lock(mutex_);
  try {
    RowCache* const table = TableOf(of.table, of.dim);
    residuals_.resize(of.ids.size() * dim);
    missing_.clear();
    table->Find(of.ids, kAll, residuals_, &missing_);
    for (const uint32_t i : missing_) {
      std::fill_n(residuals_.data() + i * dim, dim, 0.0f);
    }
    for (size_t i = 0; i < of.ids.size(); ++i) {
      const size_t at = i * dim;
      FeedBackInt4(&of.gradients[at], dim, &residuals_[at], &sums[at]);
    }
    table->Insert(of.ids, residuals_, ++epoch_);
  } catch (const std::bad_alloc&) {
    // An unknown part of the residuals is stored. Sending the gradients alone
    // and keeping no residual sends nothing twice.
    Drop(of.table);
    std::copy(of.gradients.begin(), of.gradients.end(), sums.begin());
    return kNoEra;
  }
  return era_;
}

void Residuals::TakeBack(const Gradients& of, Span<const uint32_t> delivered,
                         uint64_t era) {
  const size_t dim = of.dim;
  std::vector<bool> skipped(of.ids.size());
  for (const uint32_t i : delivered) skipped[i] = true;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(of.table);
  if (era != era_ || found == tables_.end()) return;
  residuals_.resize(of.ids.size() * dim);
  missing_.clear();
  found->second->Find(of.ids, kAll, residuals_, &missing_);
  for (const uint32_t i : missing_) skipped[i] = true;
  std::vector<int64_t> ids;
  std::vector<float> values;
  for (size_t i = 0; i < of.ids.size(); ++i) {
    if (skipped[i]) continue;
    const size_t at = i * dim;
    TakeBackInt4(&of.gradients[at], &of.sums[at], dim, &residuals_[at]);
    ids.push_back(of.ids[i]);
    values.insert(values.end(), &residuals_[at], &residuals_[at] + dim);
  }
  found->second->Refresh(ids, values, ++epoch_);
}

void Residuals::Forget(TableKey table, Span<const int64_t> ids) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(table);
  if (found != tables_.end()) found->second->Erase(ids, ++epoch_);
}

void Residuals::ForgetTable(TableKey table) {
  std::lock_guard<std::mutex> lock(mutex_);
  Drop(table);
}

void Residuals::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  DropAll();
}

std::vector<TableResiduals> Residuals::Save() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<TableResiduals> saved;
  for (const auto& [key, rows] : tables_) {
    TableResiduals& table = saved.emplace_back();
    table.table = key;
    table.dim = rows->dim();
    rows->ForEach([&table](int64_t id, const float* values) {
      table.ids.push_back(id);
      table.values.insert(table.values.end(), values, values + table.dim);
    });
  }
  return saved;
}

void Residuals::Restore(const std::vector<TableResiduals>& saved) {
  std::lock_guard<std::mutex> lock(mutex_);
  DropAll();
  for (const TableResiduals& table : saved) {
    TableOf(table.table, table.dim)->Insert(table.ids, table.values, ++epoch_);
  }
}

uint64_t Residuals::rows() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t rows = 0;
  for (const auto& [key, table] : tables_) rows += table->stats().rows;
  return rows;
}

uint64_t Residuals::dropped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t dropped = evictions_;
  for (const auto& [key, table] : tables_) dropped += table->stats().evictions;
  return dropped;
}

RowCache* Residuals::TableOf(TableKey table, uint32_t dim) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) {
    if (found->second->dim() == dim) return found->second.get();
    Drop(table);  // The table was created again, with other vectors.
  }
  auto made = std::make_unique<RowCache>(dim, rows_per_table_);
  return (tables_[table] = std::move(made)).get();
}

void Residuals::Drop(TableKey table) {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return;
  evictions_ += found->second->stats().evictions;
  tables_.erase(found);
}

void Residuals::DropAll() {
  while (!tables_.empty()) Drop(tables_.begin()->first);
  ++era_;
}

}  // namespace persia
