// The limit to compare a store with: rows in one flat array on huge pages, at
// known indices, without any search or lock.

#ifndef PERSIA_BENCHMARKS_SUPPORT_FLAT_ARRAY_H_
#define PERSIA_BENCHMARKS_SUPPORT_FLAT_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace persia::bench {

// Zeroed memory, aligned to huge pages, and on huge pages if the kernel has
// them.
class HugeArray {
 public:
  explicit HugeArray(size_t bytes);
  ~HugeArray();
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  char* data() { return data_; }
  float* floats() { return reinterpret_cast<float*>(data_); }

 private:
  void* mapping_;
  size_t mapped_bytes_;
  char* data_;
};

// Rows of 16 float32 weights, followed by 16 float32 of Adagrad's state.
inline constexpr size_t kAdagradDim = 16;
inline constexpr size_t kAdagradStride = 2 * kAdagradDim * sizeof(float);

// Rows of 8 bfloat16 weights and no state.
inline constexpr size_t kBfloat16Dim = 8;
inline constexpr size_t kBfloat16Stride = kBfloat16Dim * sizeof(uint16_t);

// Copies the weights of the rows at `indices` to `out`.
void GatherRows(const char* flat, const uint32_t* indices, size_t count,
                float* out);

// Copies the weights of the bfloat16 rows at `indices` to `out`, as float32.
void GatherBfloat16Rows(const char* flat, const uint32_t* indices, size_t count,
                        float* out);

// Updates the rows at `indices` as adagrad(epsilon=1e-07) does.
void AdagradRows(char* flat, const uint32_t* indices, size_t count,
                 const float* gradients, float learning_rate);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_FLAT_ARRAY_H_
