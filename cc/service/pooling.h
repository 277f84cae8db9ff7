// Pooling: turns bags of ids into a set of unique ids, and their rows into one
// vector per bag.
//
// All code that pools obeys the contract below: this file, in clients, workers
// and shards, and persia_tf/layers/combiners.py, which pools with stock
// TensorFlow ops for weights, compressions and exports.
// tests/layers/pooling_contract_test.py tests all of them. The contract is that
// of tf.nn.embedding_lookup_sparse, except that a division by zero gives zero.
//
//   vector = sum of weight[i] * row[i] / divisor, over the places i of a bag
//   divisor = 1 for sum; the sum of weight[i] for mean; the square root of the
//             sum of weight[i]^2 for sqrtn
//
// - Without weights, each weight is 1. An id that occurs twice counts twice,
//   with the weight of each place. An id without a row has a row of zeros, and
//   counts in the divisor. Padding is in no bag.
// - Weights may have any sign. If the bag is empty or the divisor is zero, the
//   vector is zero, and so are the gradients of the bag's rows.
// - A place of weight 0 adds nothing, even if its row or the vector's gradient
//   is not finite. Other non-finite numbers reach the vectors of their bags,
//   and the gradients of their bags' rows.
// - The gradient of a row is the sum of weight[i] / divisor * gradient of the
//   vector, over its places in all bags.
// - All numbers are float32. A vector's sum is computed first and divided once;
//   gradients are divided before they are summed. This file adds places in
//   ascending order, so that clients, workers and shards compute bit-identical
//   results. Stock ops may add in another order, so their results may differ in
//   the last bits.

#ifndef PERSIA_CC_SERVICE_POOLING_H_
#define PERSIA_CC_SERVICE_POOLING_H_

#include <algorithm>
#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Returns InvalidArgument unless `ids` is well-formed. Ids without bags must
// have neither offsets nor weights. Ids with bags must have offsets that begin
// with 0, never decrease and end with the number of ids, and either no weights
// or one weight per id.
Status CheckBags(const TableIds& ids);

// Whether ids are to be pooled. Offsets without a combiner are malformed, and
// are refused by the store.
inline bool HasBags(const TableIds& ids) {
  return ids.combiner != Combiner::kNone;
}

// Whether a LookupRequest or an UpdateRequest has ids to pool.
template <typename Request>
bool HasBags(const Request& request) {
  return std::any_of(request.tables.begin(), request.tables.end(),
                     [](const auto& table) { return HasBags(table.ids); });
}

// The weight with which each id of a batch counts in its bag's vector. A place
// is an index into the batch's ids.
class BagShares {
 public:
  // Precondition: CheckBags(bags) is OK and bags.combiner is not kNone.
  // bags.bag_offsets must stay alive while Pool and Unpool are called; ids and
  // weights need not. Reuses the memory of earlier calls.
  void Build(const TableIds& bags);

  // Pools rows of dim floats into one vector per bag; place i has row
  // inverse[i].
  void Pool(Span<const uint32_t> inverse, Span<const float> rows,
            Span<float> vectors) const;

  // Computes the rows' gradients from the vectors' gradients. Overwrites all of
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
  // Deduplicates the ids of `bags`, which sets unique_ids(), and computes their
  // shares: see BagShares::Build.
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

  // Computes the gradients of the unique ids' rows from the gradients of the
  // bags' vectors. Overwrites all of row_gradients (unique_ids().size() x dim).
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
