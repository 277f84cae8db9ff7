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

class BagPooler {
 public:
  // Precondition: CheckBags(bags) is OK and bags.combiner is not kNone. `bags`
  // and its memory must outlive the use of what Build made. Reuses memory.
  void Build(const TableIds& bags);

  Span<const int64_t> unique_ids() const { return unique_.ids; }

  // Pools rows of the unique ids (unique_ids().size() x dim) into one vector a
  // bag.
  void Pool(Span<const float> rows, Span<float> vectors) const;

  // The gradients of the unique ids' rows, given those of the bags' vectors.
  // Writes all of row_gradients (unique_ids().size() x dim).
  void Unpool(Span<const float> vector_gradients,
              Span<float> row_gradients) const;

 private:
  void SetFactors();

  TableIds bags_;
  UniqueIds unique_;
  std::vector<float> factors_;  // What each place's row is multiplied by.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_POOLING_H_
