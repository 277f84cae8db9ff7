// LookupAttrs: the attributes of an op that looks rows up for some layers.

#ifndef PERSIA_CC_OPS_LOOKUP_ATTRS_H_
#define PERSIA_CC_OPS_LOOKUP_ATTRS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/status.h"
#include "cc/ops/absent_rows.h"
#include "cc/ops/bags.h"
#include "cc/ops/kernel_util.h"
#include "cc/ops/layer_attrs.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

namespace persia {

struct LookupAttrs : LayerAttrs {
  std::vector<std::string> tables;
  std::vector<std::string> combiners;
  std::vector<int32_t> dims;
  std::vector<std::string> absents;
};

inline void AddLookupAttrs(TF_OpDefinitionBuilder* op) {
  AddLayerAttrs(op);
  TF_OpDefinitionBuilderAddAttr(op, "tables: list(string)");
  TF_OpDefinitionBuilderAddAttr(op, "combiners: list(string)");
  TF_OpDefinitionBuilderAddAttr(op, "dims: list(int)");
  TF_OpDefinitionBuilderAddAttr(op, "absents: list(string)");
}

// Reads the attributes, but does not compare the lengths of the lists.
inline Status GetLookupAttrs(TF_OpKernelConstruction* construction,
                             LookupAttrs* attrs) {
  PERSIA_RETURN_IF_ERROR(GetLayerAttrs(construction, attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "tables", &attrs->tables));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "combiners", &attrs->combiners));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dims", &attrs->dims));
  return GetAttr(construction, "absents", &attrs->absents);
}

// Sets what the attributes say of layer `i` in `lookup`, a LayerCall or a
// PrefetchIds.
template <typename Lookup>
Status SetLayer(const LookupAttrs& attrs, size_t i, Lookup* lookup) {
  auto combiner = ParseCombiner(attrs.combiners[i]);
  if (!combiner.ok()) return combiner.status();
  auto absent = ParseAbsentRows(attrs.absents[i]);
  if (!absent.ok()) return absent.status();
  lookup->layer = attrs.layers[i];
  lookup->table = HashName(attrs.tables[i]);
  lookup->dim = static_cast<uint32_t>(attrs.dims[i]);
  lookup->combiner = *combiner;
  lookup->absent = *absent;
  return Status();
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_LOOKUP_ATTRS_H_
