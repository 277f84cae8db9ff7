// The functions of SubShard that apply updates.

#include <cstdint>

#include "cc/base/hash.h"
#include "cc/store/finite.h"
#include "cc/store/slices.h"
#include "cc/store/sub_shard.h"

namespace persia {

void SubShard::PrefetchToStep(const std::byte* row,
                              const float* gradient) const {
  if (row != nullptr) PrefetchStart<For::kWrite>(row, rules_.row_bytes);
  Prefetch(gradient);
}

void SubShard::StartUpdate(IdGroup group, const float* gradients,
                           std::byte** rows) {
  const size_t count = group.ids.size();
  RowIndex::Row* numbers = ThreadRows(count);
  index_.Find(group.ids, numbers);
  for (size_t i = 0; i < count; ++i) rows[i] = PointTo(numbers[i]);
  PrefetchFirst(count, [&](size_t i) {
    PrefetchToStep(rows[i], gradients + group.places[i] * rules_.dim);
  });
  // This work overlaps the prefetching of the rows.
  NoteUpdates(group.ids, numbers);
}

void SubShard::NoteUpdates(Span<const int64_t> ids, const RowIndex::Row* rows) {
  if (changes_) changes_->MarkAll({rows, ids.size()});
  for (const auto& follower : followers_) follower->TouchAll(ids, rows);
  for (const auto& part : frozen_) {
    part->kept.BeginUpdate();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] != RowIndex::kAbsent && Has(*part, rows[i])) {
        part->kept.Expect(static_cast<uint32_t>(i), ids[i], rows[i]);
      }
    }
  }
}

void SubShard::FinishUpdate(IdGroup group, std::byte** rows,
                            const float* gradients, OptimizerStep step,
                            UpdateCounts* counts) {
  const auto prefetch_one = [&](size_t i) {
    PrefetchToStep(rows[i], gradients + group.places[i] * rules_.dim);
  };
  const auto use = [&](size_t begin, size_t end) {
    for (const auto& part : frozen_) {
      part->kept.AddExpected(group.ids, rows, end);
    }
    UpdateSlice(rows + begin, group.places.data() + begin, end - begin,
                gradients, step, counts);
  };
  InSlices(group.ids.size(), prefetch_one, use);
  for (const auto& part : frozen_) part->kept.EndUpdate();
}

// `count` is at most kSlice.
void SubShard::UpdateSlice(std::byte* const* rows, const uint32_t* places,
                           size_t count, const float* gradients,
                           OptimizerStep step, UpdateCounts* counts) {
  std::byte* kept_rows[kSlice];
  const float* kept_gradients[kSlice];
  uint8_t finite[kSlice];
  FindFinite(gradients, places, count, rules_.dim, finite);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const float* gradient = gradients + places[i] * rules_.dim;
    if (finite[i] == 0) {
      ++counts->nonfinite;
    } else if (rows[i] == nullptr) {
      ++counts->absent;
    } else {
      kept_rows[kept] = rows[i];
      kept_gradients[kept++] = gradient;
    }
  }
  counts->applied += kept;
  if (rules_.format->in_place()) {
    UpdateInPlace(kept_rows, kept_gradients, kept, step);
    return;
  }
  for (size_t i = 0; i < kept; ++i) {
    UpdateEncoded(kept_rows[i], kept_gradients[i], step);
  }
}

void SubShard::UpdateInPlace(std::byte* const* rows,
                             const float* const* gradients, size_t count,
                             OptimizerStep step) {
  float* weights[kSlice];
  float* states[kSlice];
  for (size_t i = 0; i < count; ++i) {
    weights[i] = reinterpret_cast<float*>(rows[i]);
    states[i] = state(rows[i]);
  }
  rules_.optimizer->Update(
      {weights, states, gradients, count, rules_.dim, step});
}

void SubShard::UpdateEncoded(std::byte* row, const float* gradient,
                             OptimizerStep step) {
  float* weights = ThreadWeights(rules_.dim);
  float* states = state(row);
  constexpr uint32_t kPlace = 0;
  rules_.format->Read(&row, &kPlace, 1, rules_.dim, weights);
  rules_.optimizer->Update({&weights, &states, &gradient, 1, rules_.dim, step});
  const uint64_t random = Mix64(rounding_seed_ + ++rounded_);
  rules_.format->WriteRandomly(weights, rules_.dim, random, row);
}

}  // namespace persia
