// Span: a view of contiguous memory owned by somebody else.

#ifndef PERSIA_CC_BASE_SPAN_H_
#define PERSIA_CC_BASE_SPAN_H_

#include <boost/core/span.hpp>
#include <cstdint>

namespace persia {

template <typename T, std::size_t Extent = boost::dynamic_extent>
using Span = boost::span<T, Extent>;

// Bytes to be sent or stored from where they lie, and a place for some to come.
using ConstBytes = Span<const uint8_t>;
using MutableBytes = Span<uint8_t>;

}  // namespace persia

#endif  // PERSIA_CC_BASE_SPAN_H_
