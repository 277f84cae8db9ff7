#include "benchmarks/support/flat_array.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "benchmarks/support/fail.h"
#include "cc/base/vectorize.h"

namespace persia::bench {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// How many rows ahead to prefetch: enough to keep all line-fill buffers busy,
// and few enough that prefetched lines are still in the L1 cache when used.
constexpr size_t kAhead = 32;

}  // namespace

HugeArray::HugeArray(size_t bytes) : mapped_bytes_(bytes + kHugePage) {
  mapping_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    Fail("no memory for a flat array of " + std::to_string(bytes) + " B");
  }
  const auto address = reinterpret_cast<uintptr_t>(mapping_);
  data_ = reinterpret_cast<char*>((address + kHugePage - 1) & ~(kHugePage - 1));
  madvise(data_, bytes, MADV_HUGEPAGE);
  std::memset(data_, 0, bytes);
}

HugeArray::~HugeArray() { munmap(mapping_, mapped_bytes_); }

PERSIA_VECTORIZE
void GatherRows(const char* flat, const uint32_t* indices, size_t count,
                float* out) {
  const size_t last = count - 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t ahead = indices[std::min(i + kAhead, last)];
    __builtin_prefetch(flat + ahead * kAdagradStride);
    std::memcpy(out + i * kAdagradDim, flat + indices[i] * kAdagradStride,
                kAdagradDim * sizeof(float));
  }
}

PERSIA_VECTORIZE
void GatherBfloat16Rows(const char* flat, const uint32_t* indices, size_t count,
                        float* out) {
  const size_t last = count - 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t ahead = indices[std::min(i + kAhead, last)];
    __builtin_prefetch(flat + ahead * kBfloat16Stride);
    uint16_t row[kBfloat16Dim];
    std::memcpy(row, flat + indices[i] * kBfloat16Stride, sizeof(row));
    uint32_t bits[kBfloat16Dim];
    for (size_t d = 0; d < kBfloat16Dim; ++d) bits[d] = uint32_t{row[d]} << 16;
    std::memcpy(out + i * kBfloat16Dim, bits, sizeof(bits));
  }
}

PERSIA_VECTORIZE
void AdagradRows(char* flat, const uint32_t* indices, size_t count,
                 const float* gradients, float learning_rate) {
  const size_t last = count - 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t ahead = indices[std::min(i + kAhead, last)];
    __builtin_prefetch(flat + ahead * kAdagradStride, 1);
    __builtin_prefetch(flat + ahead * kAdagradStride + kAdagradStride / 2, 1);
    float* __restrict weights =
        reinterpret_cast<float*>(flat + indices[i] * kAdagradStride);
    float* __restrict accumulator = weights + kAdagradDim;
    const float* __restrict gradient = gradients + i * kAdagradDim;
    for (size_t d = 0; d < kAdagradDim; ++d) {
      accumulator[d] += gradient[d] * gradient[d];
      weights[d] -=
          learning_rate * gradient[d] / std::sqrt(accumulator[d] + 1e-7f);
    }
  }
}

}  // namespace persia::bench
