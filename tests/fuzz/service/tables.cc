#include "tests/fuzz/service/tables.h"

#include <cmath>

#include "cc/optimizer/undecided.h"
#include "cc/store/initializer.h"

namespace persia {
namespace {

Spec SpecOf(const char* text) { return *Spec::Parse(text); }

void SetRules(Slot slot, Variant variant, TableConfig* config) {
  switch (slot) {
    case kAdagrad:
      config->dim = 3;
      config->optimizer = SpecOf("adagrad");
      break;
    case kHalf:
      config->initializer = SpecOf("constant(value=0.5)");
      config->row_dtype = SpecOf("float16");
      break;
    case kCapped:
      config->capacity = SpecOf("rows(count=16)");
      config->eviction = SpecOf("lru");
      break;
    case kShort:
      config->eviction = SpecOf("ttl(steps=6)");
      break;
    case kChoosy:
      config->admission = SpecOf("min_count(count=2)");
      config->optimizer = SpecOf("adagrad");
      break;
    case kLate:
      if (variant == Variant::kUsual) config->optimizer = SpecOf(kUndecided);
      break;
    case kFiltered:
      // About 38 MB in the variant that is too large.
      config->admission =
          SpecOf(variant == Variant::kTooLarge
                     ? "bloom_min_count(count=2,expected_ids=4000000,"
                       "false_positive_rate=0.01)"
                     : "bloom_min_count(count=2,expected_ids=100,"
                       "false_positive_rate=0.01)");
      break;
    default:
      break;
  }
}

}  // namespace

TableConfig ConfigOf(int job, Slot slot, Variant variant) {
  TableConfig config;
  config.name = Concat("job", job, "/", static_cast<int>(slot));
  config.dim = 2;
  config.initializer = SpecOf("uniform");
  config.optimizer = SpecOf("sgd");
  config.seed = 5;
  SetRules(slot, variant, &config);
  if (variant == Variant::kOther && slot != kLate) config.seed = 6;
  if (variant == Variant::kTooLarge && slot != kFiltered) config.seed = 7;
  if (variant == Variant::kInvalid) config.optimizer = SpecOf("no_such_rule");
  return config;
}

bool IsCapped(const TableConfig& config) {
  return config.capacity.name != "unlimited";
}

bool Expires(const TableConfig& config) {
  return config.eviction.name == "ttl";
}

bool IsSelective(const TableConfig& config) {
  return IsCapped(config) || Expires(config) ||
         config.admission.name != "always";
}

std::vector<float> InitialState(const TableConfig& config) {
  if (config.optimizer.name == "adagrad") {
    return std::vector<float>(config.dim, 0.1f);
  }
  return {};
}

ModelRow InitialRow(const TableConfig& config, int64_t id) {
  ModelRow row;
  row.weights.resize(config.dim);
  const auto initializer = MakeInitializer(config.initializer);
  (*initializer)
      ->Fill(TableSeed(config.name, config.seed), id, row.weights.data(),
             config.dim);
  row.state = InitialState(config);
  return row;
}

void StepRow(const TableConfig& config, const std::vector<float>& gradient,
             ModelRow* row) {
  if (IsUndecided(config.optimizer)) return;
  for (size_t d = 0; d < gradient.size(); ++d) {
    const float g = gradient[d];
    if (config.optimizer.name == "sgd") {
      row->weights[d] -= g * kRate;
    } else {
      row->state[d] += g * g;
      row->weights[d] -= kRate * g / std::sqrt(row->state[d] + 1e-7f);
    }
  }
}

}  // namespace persia
