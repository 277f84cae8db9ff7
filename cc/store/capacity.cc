#include "cc/store/capacity.h"

#include <algorithm>
#include <cmath>

#include "cc/base/param_check.h"
#include "cc/base/slots.h"

namespace persia {
namespace {

// Average bytes of the index per row.
constexpr double kIndexBytes = 17;
constexpr double kMostRows = 1e18;

}  // namespace

uint64_t CapacityRows(const Spec& spec, uint32_t slots, size_t row_bytes) {
  if (spec.name == "unlimited") return kUnlimitedRows;
  double rows = spec.Get("count", 1);
  if (spec.name == "bytes") {
    rows /= static_cast<double>(row_bytes) + kIndexBytes;
  }
  return static_cast<uint64_t>(std::max(1.0, rows * slots / kSlots));
}

Status CheckCapacity(const Spec& spec) {
  if (spec.name == "unlimited") return spec.CheckParams("capacity", {});
  if (spec.name != "rows" && spec.name != "bytes") {
    return InvalidArgument(
        "capacity must be unlimited, rows or bytes, received \"", spec.name,
        "\"");
  }
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("capacity", {"count"}));
  const double count = spec.Get("count", 0);
  return CheckParam(
      count >= 1 && count <= kMostRows && count == std::floor(count),
      "capacity", spec, "count", count,
      "a whole number from 1 to " + NumberText(kMostRows));
}

}  // namespace persia
