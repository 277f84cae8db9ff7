#include "cc/optimizer/clipping.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cc/base/vectorize.h"
#include "cc/optimizer/row_math.h"
#include "cc/optimizer/wrapped_rule.h"

namespace persia {
namespace {

// Gradients are clipped in blocks of this many floats, which stay in the L1
// cache until the rule reads them.
constexpr size_t kBlockFloats = 4096;

PERSIA_ROW_FUNCTION void ScaleRow(const float* __restrict gradient,
                                  float* __restrict clipped, size_t dim,
                                  float factor, float divisor) {
  for (size_t d = 0; d < dim; ++d) clipped[d] = gradient[d] * factor / divisor;
}

// Scales each row's gradient to a norm of at most `clipnorm`. The result,
// rows.count x rows.dim floats, is written to `clipped`.
PERSIA_VECTORIZE void ClipNorms(const RowUpdates& rows, float clipnorm,
                                float* clipped) {
  for (size_t i = 0; i < rows.count; ++i) {
    const float norm = std::sqrt(SumOfSquares(rows.gradients[i], rows.dim));
    ScaleRow(rows.gradients[i], clipped + i * rows.dim, rows.dim, clipnorm,
             std::max(norm, clipnorm));
  }
}

PERSIA_ROW_FUNCTION void ClipRow(const float* __restrict gradient,
                                 float* __restrict clipped, size_t dim,
                                 float limit) {
  for (size_t d = 0; d < dim; ++d) {
    clipped[d] = std::min(std::max(gradient[d], -limit), limit);
  }
}

PERSIA_VECTORIZE void ClipValues(const RowUpdates& rows, float clipvalue,
                                 float* clipped) {
  for (size_t i = 0; i < rows.count; ++i) {
    ClipRow(rows.gradients[i], clipped + i * rows.dim, rows.dim, clipvalue);
  }
}

// A function that clips gradients to `limit` and writes the result, rows.count
// x rows.dim floats, to `clipped`.
using Clip = void (*)(const RowUpdates& rows, float limit, float* clipped);

RowUpdates BlockOf(const RowUpdates& rows, size_t begin, size_t count) {
  RowUpdates block = rows;
  block.weights += begin;
  block.states += begin;
  block.gradients += begin;
  block.count = count;
  return block;
}

class ClippingRule : public WrappedRule {
 public:
  ClippingRule(std::unique_ptr<Optimizer> rule, Clip clip, float limit)
      : WrappedRule(std::move(rule)), clip_(clip), limit_(limit) {}

  void Update(const RowUpdates& rows) const override {
    // The clipped gradients need a buffer, since the caller's gradients must
    // not be changed. Each thread reuses its buffers, since updates are too
    // frequent to allocate memory for each.
    thread_local std::vector<float> clipped;
    thread_local std::vector<const float*> gradients;
    const size_t block_rows =
        std::min(rows.count, std::max<size_t>(1, kBlockFloats / rows.dim));
    clipped.resize(std::max(clipped.size(), block_rows * rows.dim));
    gradients.resize(std::max(gradients.size(), block_rows));
    for (size_t i = 0; i < block_rows; ++i) {
      gradients[i] = clipped.data() + i * rows.dim;
    }
    for (size_t begin = 0; begin < rows.count; begin += block_rows) {
      RowUpdates block =
          BlockOf(rows, begin, std::min(block_rows, rows.count - begin));
      clip_(block, limit_, clipped.data());
      block.gradients = gradients.data();
      rule().Update(block);
    }
  }

 private:
  const Clip clip_;
  const float limit_;
};

}  // namespace

std::unique_ptr<Optimizer> WithClippedNorm(std::unique_ptr<Optimizer> rule,
                                           float clipnorm) {
  return std::make_unique<ClippingRule>(std::move(rule), ClipNorms, clipnorm);
}

std::unique_ptr<Optimizer> WithClippedValues(std::unique_ptr<Optimizer> rule,
                                             float clipvalue) {
  return std::make_unique<ClippingRule>(std::move(rule), ClipValues, clipvalue);
}

}  // namespace persia
