#include "cc/store/table_config.h"

#include <cmath>
#include <utility>
#include <vector>

#include "cc/base/number.h"
#include "cc/base/text.h"
#include "cc/optimizer/optimizer.h"
#include "cc/optimizer/undecided.h"
#include "cc/store/admission.h"
#include "cc/store/capacity.h"
#include "cc/store/eviction.h"
#include "cc/store/initializer.h"
#include "cc/store/row_format.h"

namespace persia {

namespace {

Status CheckCapacityGoesWithEviction(const TableConfig& config) {
  const std::string& eviction = config.eviction.name;
  const bool limited = config.capacity.name != "unlimited";
  if (limited && eviction == "never") {
    return InvalidArgument(
        "eviction must be lru, lfu or ttl where capacity is ",
        config.capacity.ToString(), ", received never");
  }
  if (!limited && (eviction == "lru" || eviction == "lfu")) {
    return InvalidArgument("capacity must be given where eviction is ",
                           eviction, ", received unlimited");
  }
  return Status();
}

// A setting as users see it: the name of the layer's argument, if there is one,
// and the value.
using Setting = std::pair<const char*, Spec>;

Spec NumberSpec(uint64_t number) { return {std::to_string(number), {}}; }

// All settings of `config` except its name.
std::vector<Setting> SettingsOf(const TableConfig& config) {
  return {{"output_dim", NumberSpec(config.dim)},
          {"embeddings_initializer", config.initializer},
          {"optimizer", config.optimizer},
          {"row_dtype", config.row_dtype},
          {"capacity", config.capacity},
          {"admission", config.admission},
          {"eviction", config.eviction},
          {"seed", NumberSpec(config.seed)},
          {"default_value", {NumberText(config.default_value), {}}}};
}

// Returns `spec` without the parameters that have the same value in `other`, a
// spec of the same name.
Spec Without(const Spec& other, const Spec& spec) {
  Spec rest{spec.name, {}};
  for (const auto& [name, value] : spec.params) {
    const auto found = other.params.find(name);
    if (found == other.params.end() || found->second != value) {
      rest.params[name] = value;
    }
  }
  return rest;
}

std::string DifferenceOf(const char* name, const Spec& held,
                         const Spec& asked) {
  const bool same_name = held.name == asked.name;
  return Concat(name, ": ",
                (same_name ? Without(asked, held) : held).ToString(), " here, ",
                (same_name ? Without(held, asked) : asked).ToString(),
                " asked");
}

// The settings that differ between two configurations, as an error shows them.
std::string Difference(const TableConfig& held, const TableConfig& asked) {
  const std::vector<Setting> here = SettingsOf(held);
  const std::vector<Setting> there = SettingsOf(asked);
  std::vector<std::string> differences;
  for (size_t i = 0; i < here.size(); ++i) {
    const auto& [name, spec] = here[i];
    if (spec.ToString() == there[i].second.ToString()) continue;
    differences.push_back(DifferenceOf(name, spec, there[i].second));
  }
  return Join(differences, "; ");
}

}  // namespace

Status TableConfig::Validate() const {
  if (name.empty()) {
    return InvalidArgument("table name must not be empty, received \"\"");
  }
  if (name.size() > kMaxTableNameBytes) {
    return InvalidArgument("table name must have at most ", kMaxTableNameBytes,
                           " bytes, received ", name.size());
  }
  if (!IsPlainText(name)) {
    return InvalidArgument(
        "table name must be UTF-8 without control characters, received \"",
        Escaped(name), "\"");
  }
  if (dim < 1) {
    return InvalidArgument("output_dim must be at least 1, received ", dim);
  }
  if (dim > kMaxDim) {
    return InvalidArgument("output_dim must be at most ", kMaxDim,
                           ", received ", dim);
  }
  if (!std::isfinite(default_value)) {
    return InvalidArgument("default_value must be finite, received ",
                           NumberText(default_value));
  }
  PERSIA_RETURN_IF_ERROR(MakeInitializer(initializer).status());
  PERSIA_RETURN_IF_ERROR(MakeOptimizer(optimizer).status());
  PERSIA_RETURN_IF_ERROR(MakeRowFormat(row_dtype).status());
  PERSIA_RETURN_IF_ERROR(CheckAdmission(admission));
  PERSIA_RETURN_IF_ERROR(CheckCapacity(capacity));
  PERSIA_RETURN_IF_ERROR(CheckEviction(eviction));
  return CheckCapacityGoesWithEviction(*this);
}

std::string TableConfig::Describe() const {
  std::vector<std::string> settings;
  for (const auto& [name, spec] : SettingsOf(*this)) {
    settings.push_back(Concat(name, "=", spec.ToString()));
  }
  return Join(settings, ", ");
}

std::string TableConfig::DescribeChosen() const {
  // The first settings have no defaults, so they are always described.
  constexpr size_t kAlways = 3;
  const std::vector<Setting> settings = SettingsOf(*this);
  const std::vector<Setting> defaults = SettingsOf(TableConfig());
  std::vector<std::string> chosen;
  for (size_t i = 0; i < settings.size(); ++i) {
    const auto& [name, spec] = settings[i];
    const bool is_default = spec.ToString() == defaults[i].second.ToString();
    if (i >= kAlways && is_default) continue;
    chosen.push_back(Concat(name, "=", spec.ToString()));
  }
  return Join(chosen, ", ");
}

Status CheckSameTable(const TableConfig& held, const TableConfig& asked_for) {
  TableConfig asked = asked_for;
  if (IsUndecided(held.optimizer) || IsUndecided(asked.optimizer)) {
    asked.optimizer = held.optimizer;
  }
  if (held.name != asked.name) {
    return Status(Code::kAlreadyExists,
                  Concat("tables \"", held.name, "\" and \"", asked.name,
                         "\" have names with the same hash: rename the new "
                         "one"));
  }
  const std::string difference = Difference(held, asked);
  if (difference.empty()) return Status();
  return Status(
      Code::kAlreadyExists,
      Concat("table \"", held.name,
             "\" exists with other settings: ", difference,
             ". Use the settings of the existing table, or another table name; "
             "or drop this table with its rows, by ptf.Table(name).drop() or "
             "persia table drop"));
}

}  // namespace persia
