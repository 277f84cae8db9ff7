#include "cc/json/column.h"

#include <algorithm>
#include <cstring>

namespace persia {
namespace {

using Form = ColumnOutput::Form;

uint32_t KindsOf(Form form) {
  switch (form) {
    case Form::kNone:
      return 0;
    case Form::kBools:
      return kJsonBool;
    case Form::kIntegers:
      return kJsonInteger;
    case Form::kDoubles:
      return kJsonInteger | kJsonFloat;
    case Form::kTexts:
      return kJsonText | kJsonBytes;
  }
  return 0;
}

}  // namespace

Column::Column(std::string name, bool in_rows)
    : name_(std::move(name)), base_depth_(in_rows ? 1 : 0) {
  if (in_rows) BeginList();
}

Span<const uint64_t> Column::shape() const {
  return Span<const uint64_t>(lengths_.data(), rank_);
}

void Column::CountElement() {
  // Lists that are nested too deeply have no counter.
  if (depth_ > 0 && depth_ <= counts_.size()) ++counts_[depth_ - 1];
}

void Column::BeginList() {
  CountElement();
  ++depth_;
  if (depth_ > kMaxRank || (has_rank_ && depth_ > rank_)) {
    is_ragged_ = true;
    return;
  }
  if (counts_.size() < depth_) {
    counts_.push_back(0);
    lengths_.push_back(0);
    has_length_.push_back(false);
  }
  counts_[depth_ - 1] = 0;
}

void Column::EndList() {
  const size_t level = --depth_;
  // A list that is nested too deeply has no counter.
  if (level >= counts_.size()) return;
  const uint64_t length = counts_[level];
  if (!has_length_[level]) {
    has_length_[level] = true;
    lengths_[level] = length;
  } else if (lengths_[level] != length) {
    is_ragged_ = true;
  }
  if (length == 0) {
    // An empty list contains no lists, so its level must be the innermost one.
    if (has_rank_ && rank_ != level + 1) is_ragged_ = true;
    has_rank_ = true;
    rank_ = std::max(rank_, level + 1);
  }
}

bool Column::Add(JsonKind kind) {
  kinds_ |= kind;
  CountElement();
  if (!has_rank_) {
    has_rank_ = true;
    rank_ = std::min(depth_, kMaxRank);
  }
  if (rank_ != depth_) is_ragged_ = true;
  return value_count_++ < output_.value_count;
}

template <typename T>
void Column::Store(T value) {
  std::memcpy(
      static_cast<char*>(output_.values) + (value_count_ - 1) * sizeof(value),
      &value, sizeof(value));
}

void Column::StoreNumber(uint64_t bits, double value) {
  if (output_.form == Form::kIntegers) {
    Store(bits);
  } else if (output_.form == Form::kDoubles) {
    Store(value);
  }
}

void Column::AddBool(bool value) {
  if (Add(kJsonBool) && output_.form == Form::kBools) {
    Store(static_cast<uint8_t>(value));
  }
}

void Column::AddInt(int64_t value) {
  least_ = std::min(least_, value);
  if (value > 0) most_ = std::max(most_, static_cast<uint64_t>(value));
  if (Add(kJsonInteger)) {
    StoreNumber(static_cast<uint64_t>(value), static_cast<double>(value));
  }
}

void Column::AddUint(uint64_t value) {
  most_ = std::max(most_, value);
  if (Add(kJsonInteger)) StoreNumber(value, static_cast<double>(value));
}

void Column::AddDouble(double value) {
  if (Add(kJsonFloat) && output_.form == Form::kDoubles) Store(value);
}

void Column::AddOther(JsonKind kind) { Add(kind); }

void Column::AddTextPart(std::string_view part) {
  if (part.empty()) return;  // Avoids memcpy with `texts`, which may be null.
  if (output_.form == Form::kTexts && text_bytes_ <= output_.text_bytes &&
      part.size() <= output_.text_bytes - text_bytes_) {
    std::memcpy(output_.texts + text_bytes_, part.data(), part.size());
  }
  text_bytes_ += part.size();
}

void Column::EndText(JsonKind kind) {
  if (Add(kind) && output_.form == Form::kTexts) {
    Store(text_bytes_);
    output_.are_base64[value_count_ - 1] = kind == kJsonBytes ? 1 : 0;
  }
}

Status Column::Begin(const ColumnOutput& output) {
  if ((kinds_ & ~KindsOf(output.form)) != 0 || is_ragged_) {
    return InvalidArgument("column '", name_, "' has values of the kinds ",
                           kinds_, ", which do not fit form ",
                           static_cast<int>(output.form));
  }
  if (output.value_count != value_count_ ||
      (output.form == Form::kTexts && output.text_bytes != text_bytes_)) {
    return InvalidArgument("column '", name_, "' has ", value_count_,
                           " values and ", text_bytes_,
                           " bytes of text, so its output must have room for "
                           "exactly these. Received room for: ",
                           output.value_count, " and ", output.text_bytes);
  }
  output_ = output;
  value_count_ = 0;
  text_bytes_ = 0;
  if (base_depth_ == 1) BeginList();
  return Status();
}

}  // namespace persia
