// Pooling: bags of ids as one weighted set of unique ids, and back.
//
// As tf.nn.embedding_lookup_sparse pools: a sum weights each row by its weight;
// a mean divides that by the bag's sum of weights, sqrtn by the square root of
// its sum of squared weights. An empty bag, and one to divide by zero, is zero.

#ifndef PERSIA_CC_SERVICE_POOLING_H_
#define PERSIA_CC_SERVICE_POOLING_H_

#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// InvalidArgument unless `ids` is well-formed: without bags neither offsets nor
// weights; with bags, offsets that rise from 0 to the number of ids, and no
// weights or one an id.
Status CheckBags(const TableIds& ids);

// What each place of a batch has in the vector of its bag.
class BagShares {
 public:
  // Precondition: CheckBags(bags) is OK and bags.combiner is not kNone. The
  // memory of bags.bag_offsets must outlive the use of what Build made; that of
  // ids and weights need not. Reuses memory.
  void Build(const TableIds& bags);

  // Pools rows of dim numbers into one vector a bag; place i has row
  // inverse[i].
  void Pool(Span<const uint32_t> inverse, Span<const float> rows,
            Span<float> vectors) const;

  // The rows' gradients, given those of the vectors. Writes all of
  // row_gradients.
  void Unpool(Span<const uint32_t> inverse, Span<const float> vector_gradients,
              Span<float> row_gradients) const;

 private:
  void AddPlace(uint32_t place, const float* from, float* to) const;

  size_t dim_ = 0;
  Span<const uint32_t> offsets_;
  std::vector<float> weights_;   // One a place, or empty: all 1.
  std::vector<float> divisors_;  // One a bag.
};

class BagPooler {
 public:
  // As BagShares has it.
  void Build(const TableIds& bags) {
    unique_ = Dedupe(bags.ids);
    shares_.Build(bags);
  }

  Span<const int64_t> unique_ids() const { return unique_.ids; }

  // Pools rows of the unique ids (unique_ids().size() x dim) into one vector a
  // bag.
  void Pool(Span<const float> rows, Span<float> vectors) const {
    shares_.Pool(unique_.inverse, rows, vectors);
  }

  // The gradients of the unique ids' rows, given those of the bags' vectors.
  // Writes all of row_gradients (unique_ids().size() x dim).
  void Unpool(Span<const float> vector_gradients,
              Span<float> row_gradients) const {
    shares_.Unpool(unique_.inverse, vector_gradients, row_gradients);
  }

 private:
  UniqueIds unique_;
  BagShares shares_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_POOLING_H_
