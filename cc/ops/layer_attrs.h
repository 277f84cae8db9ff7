// The attributes of an op that serves some layers of one session.

#ifndef PERSIA_CC_OPS_LAYER_ATTRS_H_
#define PERSIA_CC_OPS_LAYER_ATTRS_H_

#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

namespace persia {

struct LayerAttrs {
  std::string session;
  std::vector<std::string> layers;
};

inline void AddLayerAttrs(TF_OpDefinitionBuilder* op) {
  TF_OpDefinitionBuilderAddAttr(op, "session: string");
  TF_OpDefinitionBuilderAddAttr(op, "layers: list(string) >= 1");
}

inline Status GetLayerAttrs(TF_OpKernelConstruction* construction,
                            LayerAttrs* attrs) {
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "session", &attrs->session));
  return GetAttr(construction, "layers", &attrs->layers);
}

// Returns InvalidArgument unless there is a value of the attribute `name` for
// each layer.
template <typename T>
Status CheckOnePerLayer(const LayerAttrs& attrs, const char* name,
                        const std::vector<T>& values) {
  if (values.size() == attrs.layers.size()) return Status();
  return InvalidArgument("the op needs one of `", name,
                         "` per layer, received ", values.size(), " for ",
                         attrs.layers.size(), " layers");
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_LAYER_ATTRS_H_
