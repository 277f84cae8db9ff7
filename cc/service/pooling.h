// Pooling: turns bags of ids into a set of unique ids, and their rows into one
// vector per bag.
//
// Pools as tf.nn.embedding_lookup_sparse does: a sum weights each row by its
// weight; a mean divides that by the bag's sum of weights, sqrtn by the square
// root of its sum of squared weights. The vector is zero for an empty bag, and
// where the divisor is zero.

#ifndef PERSIA_CC_SERVICE_POOLING_H_
#define PERSIA_CC_SERVICE_POOLING_H_

#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// InvalidArgument unless `ids` is well-formed: without bags, neither offsets
// nor weights; with bags, offsets that never decrease, from 0 to the number of
// ids, and no weights or one per id.
Status CheckBags(const TableIds& ids);

// The weight with which each id of a batch counts in its bag's vector. A place
// is an index into the batch's ids.
class BagShares {
 public:
  // Precondition: CheckBags(bags) is OK and bags.combiner is not kNone.
  // bags.bag_offsets must stay alive while Pool and Unpool are called; ids and
  // weights need not. Reuses memory.
  void Build(const TableIds& bags);

  // Pools rows of dim floats into one vector per bag; place i has row
  // inverse[i].
  void Pool(Span<const uint32_t> inverse, Span<const float> rows,
            Span<float> vectors) const;

  // Computes the rows' gradients from those of the vectors. Overwrites all of
  // row_gradients.
  void Unpool(Span<const uint32_t> inverse, Span<const float> vector_gradients,
              Span<float> row_gradients) const;

 private:
  void AddPlace(uint32_t place, const float* from, float* to) const;

  size_t dim_ = 0;
  Span<const uint32_t> offsets_;
  std::vector<float> weights_;   // One per place, or empty: all 1.
  std::vector<float> divisors_;  // One per bag.
};

class BagPooler {
 public:
  // See BagShares::Build; after it, also unique_ids() is set.
  void Build(const TableIds& bags) {
    unique_ = Dedupe(bags.ids);
    shares_.Build(bags);
  }

  Span<const int64_t> unique_ids() const { return unique_.ids; }

  // Pools rows of the unique ids (unique_ids().size() x dim) into one vector
  // per bag.
  void Pool(Span<const float> rows, Span<float> vectors) const {
    shares_.Pool(unique_.inverse, rows, vectors);
  }

  // Computes the gradients of the unique ids' rows from those of the bags'
  // vectors. Overwrites all of row_gradients (unique_ids().size() x dim).
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
