#include "cc/optimizer/undecided.h"

namespace persia {
namespace {

class Undecided : public Optimizer {
 public:
  size_t state_size(size_t) const override { return 0; }

  void InitState(float*, size_t) const override {}

  void Update(const RowUpdates&) const override {}
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeUndecided(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("optimizer", {}));
  return std::unique_ptr<Optimizer>(std::make_unique<Undecided>());
}

}  // namespace persia
