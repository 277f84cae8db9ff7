// Span: a view of contiguous memory owned by somebody else.

#ifndef PERSIA_CC_BASE_SPAN_H_
#define PERSIA_CC_BASE_SPAN_H_

#include <boost/core/span.hpp>

namespace persia {

template <typename T, std::size_t Extent = boost::dynamic_extent>
using Span = boost::span<T, Extent>;

}  // namespace persia

#endif  // PERSIA_CC_BASE_SPAN_H_
