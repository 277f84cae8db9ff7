// The attributes of an op that serves some layers of one session.

#ifndef PERSIA_CC_OPS_LAYER_ATTRS_H_
#define PERSIA_CC_OPS_LAYER_ATTRS_H_

#include <cstddef>
#include <initializer_list>
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

// Returns InvalidArgument unless each of the lists has an entry for each layer.
// `names` are those of the lists, for the message.
inline Status CheckOnePerLayer(const std::vector<std::string>& layers,
                               const char* names,
                               std::initializer_list<size_t> lengths) {
  for (const size_t length : lengths) {
    if (length == layers.size()) continue;
    return InvalidArgument(names, " must be as long as layers, which has ",
                           layers.size(), " entries, received one with ",
                           length);
  }
  return Status();
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_LAYER_ATTRS_H_
