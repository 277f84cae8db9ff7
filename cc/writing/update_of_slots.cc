#include "cc/writing/update_of_slots.h"

#include "cc/service/pooling.h"

namespace persia {

UpdateOfSlots::UpdateOfSlots(const UpdateRequest& whole, const SlotSet& slots) {
  request_.client = whole.client;
  request_.sequence = whole.sequence;
  request_.generation = whole.generation;
  request_.trainer = whole.trainer;
  for (const TableUpdate& update : whole.tables) {
    const size_t dim = update.ids.dim;
    if (HasBags(update.ids)) {
      BagPooler pooler;
      pooler.Build(update.ids);
      std::vector<float> rows(pooler.unique_ids().size() * dim);
      pooler.Unpool(update.gradients, rows);
      Add(pooler.unique_ids(), rows, dim, slots);
    } else {
      Add(update.ids.ids, update.gradients, dim, slots);
    }
  }
  for (size_t t = 0; t < whole.tables.size(); ++t) {
    TableUpdate& own = request_.tables.emplace_back();
    own.ids.table = whole.tables[t].ids.table;
    own.ids.dim = whole.tables[t].ids.dim;
    own.ids.ids = ids_[t];
    own.gradients = gradients_[t];
    own.learning_rate = whole.tables[t].learning_rate;
    own.step = whole.tables[t].step;
  }
}

void UpdateOfSlots::Add(Span<const int64_t> ids, Span<const float> gradients,
                        size_t dim, const SlotSet& slots) {
  std::vector<int64_t>& own_ids = ids_.emplace_back();
  std::vector<float>& own_gradients = gradients_.emplace_back();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!slots[SlotOf(ids[i])]) continue;
    own_ids.push_back(ids[i]);
    const float* const from = gradients.data() + i * dim;
    own_gradients.insert(own_gradients.end(), from, from + dim);
  }
}

}  // namespace persia
