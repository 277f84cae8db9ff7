#include "cc/store/table_config.h"

#include <cmath>

#include "cc/base/number.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/initializer.h"

namespace persia {

Status TableConfig::Validate() const {
  if (name.empty()) {
    return InvalidArgument("table name must not be empty, received \"\"");
  }
  if (name.size() > kMaxTableNameBytes) {
    return InvalidArgument("table name must have at most ", kMaxTableNameBytes,
                           " bytes, received ", name.size());
  }
  if (dim < 1) {
    return InvalidArgument("output_dim must be at least 1, received ", dim);
  }
  if (dim > kMaxDim) {
    return InvalidArgument("output_dim must be at most ", kMaxDim,
                           ", received ", dim);
  }
  if (!std::isfinite(default_value)) {
    return InvalidArgument("default_value must be finite, received ",
                           NumberText(default_value));
  }
  if (shard_index >= shard_count) {
    return InvalidArgument("shard_index must be below shard_count, received ",
                           shard_index, " and ", shard_count);
  }
  PERSIA_RETURN_IF_ERROR(MakeInitializer(initializer).status());
  return MakeOptimizer(optimizer).status();
}

std::string TableConfig::Describe() const {
  return Concat("output_dim=", dim, ", initializer=", initializer.ToString(),
                ", optimizer=", optimizer.ToString(), ", seed=", seed,
                ", default_value=", NumberText(default_value),
                ", shard_index=", shard_index, ", shard_count=", shard_count);
}

}  // namespace persia
