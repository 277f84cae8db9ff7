// LayerInputs: the inputs of an op that looks rows up for some layers: the ids
// of each layer, then the row splits of each layer.

#ifndef PERSIA_CC_OPS_LAYER_INPUTS_H_
#define PERSIA_CC_OPS_LAYER_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cc/base/status.h"
#include "cc/ops/bags.h"
#include "cc/ops/kernel_util.h"
#include "cc/service/embedding_service.h"
#include "tensorflow/c/kernels.h"

namespace persia {

// The inputs of one layer.
struct LayerInputs {
  TfTensor ids;
  BagOffsets bags;
};

// Takes the inputs of layer `i` of `layers`, where `first` is the index of the
// first layer's ids. `lookup`, whose combiner is set, then refers to the
// result.
inline Result<LayerInputs> TakeInputs(TF_OpKernelContext* context, size_t first,
                                      size_t layers, size_t i,
                                      TableIds* lookup) {
  auto ids = GetInput(context, static_cast<int>(first + i));
  if (!ids.ok()) return ids.status();
  auto splits = GetInput(context, static_cast<int>(first + layers + i));
  if (!splits.ok()) return splits.status();
  auto bags = BagOffsets::Of(lookup->combiner, *ids, std::move(*splits));
  if (!bags.ok()) return bags.status();
  LayerInputs inputs{std::move(*ids), std::move(*bags)};
  lookup->ids = Values<const int64_t>(inputs.ids);
  lookup->bag_offsets = inputs.bags.offsets();
  return inputs;
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_LAYER_INPUTS_H_
