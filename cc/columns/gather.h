// Gather: takes values in another order, faster than a general library, which
// checks each place and allocates memory that the system has to clear.
//
// Thread-safe: plain functions. Never blocks.

#ifndef PERSIA_CC_COLUMNS_GATHER_H_
#define PERSIA_CC_COLUMNS_GATHER_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Sets value i of `to` to value places[i] of `from`, for values of 1, 2, 4 or 8
// bytes. Returns kInvalidArgument for another width, a place that `from` has
// not, or a `to` of another size than the places need.
PERSIA_EXPORT Status Gather(ConstBytes from, size_t width,
                            Span<const int32_t> places, MutableBytes to);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_GATHER_H_
