// Span: a non-owning view of contiguous memory.

#ifndef PERSIA_CC_BASE_SPAN_H_
#define PERSIA_CC_BASE_SPAN_H_

#include <boost/core/span.hpp>
#include <cstdint>

namespace persia {

template <typename T, std::size_t Extent = boost::dynamic_extent>
using Span = boost::span<T, Extent>;

// Views of bytes: ConstBytes are sent or stored without a copy, and
// MutableBytes receive bytes.
using ConstBytes = Span<const uint8_t>;
using MutableBytes = Span<uint8_t>;

}  // namespace persia

#endif  // PERSIA_CC_BASE_SPAN_H_
