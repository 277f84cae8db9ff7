// StridedSpan: a view of vectors of one size, each a fixed number of elements
// after the one before, such as some columns of a matrix.

#ifndef PERSIA_CC_BASE_STRIDED_SPAN_H_
#define PERSIA_CC_BASE_STRIDED_SPAN_H_

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "cc/base/span.h"

namespace persia {

template <typename T>
class StridedSpan {
 public:
  StridedSpan() = default;

  // Vectors without gaps between them.
  template <typename Values, typename = std::enable_if_t<
                                 std::is_convertible_v<Values&&, Span<T>>>>
  StridedSpan(Values&& values)  // NOLINT: as Span converts.
      : values_(std::forward<Values>(values)) {}

  // Vectors that begin `stride` elements apart. `values` reaches from the first
  // element of the first vector to the last element of the last one.
  StridedSpan(Span<T> values, size_t stride)
      : values_(values), stride_(stride) {}

  // Returns the view of `count` vectors of `dim` elements in a matrix, `matrix`
  // with rows of `stride` elements, from column `column` on.
  static StridedSpan Columns(Span<T> matrix, size_t count, size_t stride,
                             size_t column, size_t dim) {
    if (count == 0) return StridedSpan(Span<T>(), stride);
    return StridedSpan(matrix.subspan(column, (count - 1) * stride + dim),
                       stride);
  }

  // Whether this is a view of exactly `count` vectors of `dim` elements.
  bool Holds(size_t count, size_t dim) const {
    return values_.size() ==
           (count == 0 ? 0 : (count - 1) * StrideOf(dim) + dim);
  }

  // The functions below take the vectors' size.

  size_t StrideOf(size_t dim) const { return stride_ == 0 ? dim : stride_; }
  bool IsContiguous(size_t dim) const { return StrideOf(dim) == dim; }
  T* At(size_t i, size_t dim) const {
    return values_.data() + i * StrideOf(dim);
  }

  // Returns the view of the vectors `begin` to `end` - 1.
  StridedSpan Part(size_t begin, size_t end, size_t dim) const {
    const size_t stride = StrideOf(dim);
    if (begin == end) return StridedSpan(Span<T>(), stride);
    return StridedSpan(
        values_.subspan(begin * stride, (end - begin - 1) * stride + dim),
        stride);
  }

  // All elements, with the gaps if there are any.
  Span<T> values() const { return values_; }

 private:
  Span<T> values_;
  size_t stride_ = 0;  // 0: the vectors' size.
};

// Copies vectors of `dim` elements, without gaps, to `to`.
inline void CopyVectors(Span<const float> from, size_t dim,
                        StridedSpan<float> to) {
  if (to.IsContiguous(dim)) {
    std::copy(from.begin(), from.end(), to.values().begin());
    return;
  }
  for (size_t i = 0; i * dim < from.size(); ++i) {
    std::copy_n(from.data() + i * dim, dim, to.At(i, dim));
  }
}

// Appends `count` vectors of `dim` elements to `to`, without gaps.
inline void AppendVectors(StridedSpan<const float> from, size_t count,
                          size_t dim, std::vector<float>* to) {
  for (size_t i = 0; i < count; ++i) {
    const float* const vector = from.At(i, dim);
    to->insert(to->end(), vector, vector + dim);
  }
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_STRIDED_SPAN_H_
