// UpdateOfSlots: the part of an update that belongs to some slots.

#ifndef PERSIA_CC_WRITING_UPDATE_OF_SLOTS_H_
#define PERSIA_CC_WRITING_UPDATE_OF_SLOTS_H_

#include <cstdint>
#include <vector>

#include "cc/base/slot_set.h"
#include "cc/service/embedding_service.h"

namespace persia {

class UpdateOfSlots {
 public:
  // Copies what it needs of `whole`, which must be well-formed. The part has
  // the gradient of each id, even if `whole` has gradients of bags. Throws
  // std::bad_alloc.
  UpdateOfSlots(const UpdateRequest& whole, const SlotSet& slots);
  UpdateOfSlots(const UpdateOfSlots&) = delete;
  UpdateOfSlots& operator=(const UpdateOfSlots&) = delete;

  UpdateRequest* request() { return &request_; }

 private:
  void Add(Span<const int64_t> ids, Span<const float> gradients, size_t dim,
           const SlotSet& slots);

  UpdateRequest request_;
  // One for each table.
  std::vector<std::vector<int64_t>> ids_;
  std::vector<std::vector<float>> gradients_;
};

}  // namespace persia

#endif  // PERSIA_CC_WRITING_UPDATE_OF_SLOTS_H_
