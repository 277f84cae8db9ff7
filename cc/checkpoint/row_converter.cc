#include "cc/checkpoint/row_converter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cc/store/eviction.h"

namespace persia {
namespace {

size_t UseBytes(const RowLayout& layout) {
  return layout.state_offset - layout.use_offset;
}

size_t StateBytes(const RowLayout& layout) {
  return layout.row_bytes - layout.state_offset;
}

}  // namespace

Result<std::unique_ptr<RowConverter>> RowConverter::Make(const End& from,
                                                         const End& to) {
  if (from.config.dim != to.config.dim) {
    return InvalidArgument("table \"", to.config.name, "\" has output_dim ",
                           to.config.dim, ", but in the checkpoint it has ",
                           from.config.dim);
  }
  const auto from_layout = LayoutOf(from.config);
  const auto to_layout = LayoutOf(to.config);
  auto from_format = MakeRowFormat(from.config.row_dtype);
  auto to_format = MakeRowFormat(to.config.row_dtype);
  auto optimizer = MakeOptimizer(to.config.optimizer);
  for (const Status& status :
       {from_layout.status(), to_layout.status(), from_format.status(),
        to_format.status(), optimizer.status()}) {
    if (!status.ok()) return status;
  }
  std::unique_ptr<RowConverter> made(new RowConverter);
  made->dim_ = to.config.dim;
  made->from_ = *from_layout;
  made->to_ = *to_layout;
  made->from_time_ = from.time;
  made->to_time_ = to.time;
  made->keeps_state_ = from.config.optimizer.name == to.config.optimizer.name &&
                       StateBytes(*from_layout) == StateBytes(*to_layout);
  made->keeps_use_ = UseBytes(*from_layout) == UseBytes(*to_layout);
  made->same_row_ = made->keeps_state_ && made->keeps_use_ &&
                    from.config.row_dtype == to.config.row_dtype;
  made->from_format_ = std::move(*from_format);
  made->to_format_ = std::move(*to_format);
  made->optimizer_ = std::move(*optimizer);
  made->weights_.resize(to.config.dim);
  return made;
}

bool RowConverter::is_identity() const {
  return same_row_ && (UseBytes(to_) == 0 || from_time_ == to_time_);
}

void RowConverter::Convert(int64_t id, const std::byte* row, RawRows* rows) {
  const size_t at = rows->bytes.size();
  rows->ids.push_back(id);
  rows->bytes.resize(at + to_.row_bytes);
  std::byte* converted = rows->bytes.data() + at;
  if (same_row_) {
    std::memcpy(converted, row, to_.row_bytes);
  } else {
    ConvertWeights(row, converted);
    ConvertState(row, converted);
  }
  if (UseBytes(to_) > 0) ConvertUse(row, converted);
}

// Shifts the row's last use from the source table's clock to the destination's.
// The unsigned arithmetic stays correct when the clocks wrap around.
void RowConverter::ConvertUse(const std::byte* row,
                              std::byte* converted) const {
  RowUse use{to_time_, 0};
  if (keeps_use_) {
    std::memcpy(&use, row + from_.use_offset, sizeof(use));
    use.last += to_time_ - from_time_;
  }
  std::memcpy(converted + to_.use_offset, &use, sizeof(use));
}

void RowConverter::ConvertWeights(const std::byte* row, std::byte* converted) {
  constexpr uint32_t kPlace = 0;
  from_format_->Read(&row, &kPlace, 1, dim_, weights_.data());
  to_format_->Write(weights_.data(), dim_, converted);
}

void RowConverter::ConvertState(const std::byte* row, std::byte* converted) {
  std::byte* state = converted + to_.state_offset;
  if (keeps_state_) {
    std::memcpy(state, row + from_.state_offset, StateBytes(to_));
  } else {
    optimizer_->InitState(reinterpret_cast<float*>(state), dim_);
  }
}

}  // namespace persia
