#include "cc/store/table_config.h"

#include <cmath>

#include "cc/base/number.h"
#include "cc/base/text.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/admission.h"
#include "cc/store/capacity.h"
#include "cc/store/eviction.h"
#include "cc/store/initializer.h"
#include "cc/store/row_format.h"

namespace persia {

namespace {

Status CheckCapacityGoesWithEviction(const TableConfig& config) {
  const std::string& eviction = config.eviction.name;
  const bool limited = config.capacity.name != "unlimited";
  if (limited && eviction == "never") {
    return InvalidArgument(
        "eviction must be lru, lfu or ttl where capacity is ",
        config.capacity.ToString(), ", received never");
  }
  if (!limited && (eviction == "lru" || eviction == "lfu")) {
    return InvalidArgument("capacity must be given where eviction is ",
                           eviction, ", received unlimited");
  }
  return Status();
}

}  // namespace

Status TableConfig::Validate() const {
  if (name.empty()) {
    return InvalidArgument("table name must not be empty, received \"\"");
  }
  if (name.size() > kMaxTableNameBytes) {
    return InvalidArgument("table name must have at most ", kMaxTableNameBytes,
                           " bytes, received ", name.size());
  }
  if (!IsPlainText(name)) {
    return InvalidArgument(
        "table name must be UTF-8 without control characters, received \"",
        Escaped(name), "\"");
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
  PERSIA_RETURN_IF_ERROR(MakeOptimizer(optimizer).status());
  PERSIA_RETURN_IF_ERROR(MakeRowFormat(row_dtype).status());
  PERSIA_RETURN_IF_ERROR(CheckAdmission(admission));
  PERSIA_RETURN_IF_ERROR(CheckCapacity(capacity));
  PERSIA_RETURN_IF_ERROR(CheckEviction(eviction));
  return CheckCapacityGoesWithEviction(*this);
}

std::string TableConfig::Describe() const {
  return Concat(
      "output_dim=", dim, ", initializer=", initializer.ToString(),
      ", optimizer=", optimizer.ToString(),
      ", row_dtype=", row_dtype.ToString(), ", capacity=", capacity.ToString(),
      ", admission=", admission.ToString(), ", eviction=", eviction.ToString(),
      ", seed=", seed, ", default_value=", NumberText(default_value),
      ", shard_index=", shard_index, ", shard_count=", shard_count);
}

Status CheckSameTable(const TableConfig& held, const TableConfig& asked) {
  if (held.name != asked.name) {
    return Status(Code::kAlreadyExists,
                  Concat("tables \"", held.name, "\" and \"", asked.name,
                         "\" have the same hash; rename the new one"));
  }
  const std::string held_text = held.Describe();
  const std::string asked_text = asked.Describe();
  if (held_text == asked_text) return Status();

  TableConfig moved = asked;
  moved.shard_index = held.shard_index;
  moved.shard_count = held.shard_count;
  const char* advice =
      moved.Describe() == held_text
          ? "list the shards in the same order and number as when the table "
            "was made"
          : "use its settings, or another table name, or drop the table first "
            "with all its rows (ptf.Table(name).drop(), persia table drop)";
  return Status(
      Code::kAlreadyExists,
      Concat("table \"", held.name, "\" exists with other settings; ", advice,
             "\n  existing:  ", held_text, "\n  requested: ", asked_text));
}

}  // namespace persia
