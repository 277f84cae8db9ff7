// LayerColumns: where the vectors of each of an op's layers are in tensors.
//
// An op has one tensor per layer, or one joined tensor, each row of which has
// a vector of every layer, side by side.

#ifndef PERSIA_CC_OPS_LAYER_COLUMNS_H_
#define PERSIA_CC_OPS_LAYER_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/base/strided_span.h"
#include "cc/ops/kernel_util.h"

namespace persia {

class LayerColumns {
 public:
  LayerColumns() = default;
  // `dims` are the layers' dims, and `tensors` the number of tensors. Returns
  // InvalidArgument unless there is one tensor, or one per layer.
  static Result<LayerColumns> Of(std::vector<int32_t> dims, int32_t tensors) {
    if (tensors != 1 && static_cast<size_t>(tensors) != dims.size()) {
      return InvalidArgument(
          "the op needs one tensor, or one per layer, received ", tensors,
          " for ", dims.size(), " layers");
    }
    LayerColumns columns;
    columns.joined_ = tensors == 1;
    columns.dims_ = std::move(dims);
    return columns;
  }

  size_t layers() const { return dims_.size(); }
  size_t tensors() const { return joined_ ? 1 : dims_.size(); }
  // The index of the tensor that has the layer's vectors.
  size_t TensorOf(size_t layer) const { return joined_ ? 0 : layer; }
  // The size of a row of that tensor.
  int64_t WidthOf(size_t layer) const {
    if (!joined_) return dims_[layer];
    return std::accumulate(dims_.begin(), dims_.end(), int64_t{0});
  }

  // Returns the layer's vectors in the values of its tensor.
  template <typename Float>
  StridedSpan<Float> VectorsOf(size_t layer, Span<Float> values) const {
    if (!joined_) return values;
    const auto width = static_cast<size_t>(WidthOf(layer));
    const auto column = static_cast<size_t>(std::accumulate(
        dims_.begin(), dims_.begin() + static_cast<ptrdiff_t>(layer),
        int64_t{0}));
    return StridedSpan<Float>::Columns(values, values.size() / width, width,
                                       column,
                                       static_cast<size_t>(dims_[layer]));
  }

 private:
  bool joined_ = false;
  std::vector<int32_t> dims_;
};

}  // namespace persia

#endif  // PERSIA_CC_OPS_LAYER_COLUMNS_H_
