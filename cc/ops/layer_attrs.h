// The attributes of an op that serves one layer of one session.

#ifndef PERSIA_CC_OPS_LAYER_ATTRS_H_
#define PERSIA_CC_OPS_LAYER_ATTRS_H_

#include <string>

#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

namespace persia {

struct LayerAttrs {
  std::string session;
  std::string layer;
};

inline void AddLayerAttrs(TF_OpDefinitionBuilder* op) {
  TF_OpDefinitionBuilderAddAttr(op, "session: string");
  TF_OpDefinitionBuilderAddAttr(op, "layer: string");
}

inline Status GetLayerAttrs(TF_OpKernelConstruction* construction,
                            LayerAttrs* attrs) {
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "session", &attrs->session));
  return GetAttr(construction, "layer", &attrs->layer);
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_LAYER_ATTRS_H_
