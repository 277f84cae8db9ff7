// The tables that jobs of a program make, and their rules, implemented a second
// time for single rows.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_TABLES_H_
#define PERSIA_TESTS_FUZZ_SERVICE_TABLES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cc/store/table_config.h"

namespace persia {

struct ModelRow {
  std::vector<float> weights;
  std::vector<float> state;

  friend bool operator==(const ModelRow& a, const ModelRow& b) {
    return a.weights == b.weights && a.state == b.state;
  }
};

using ModelRows = std::map<int64_t, ModelRow>;

enum Slot {
  kPlain,     // SGD.
  kAdagrad,   // With state.
  kHalf,      // float16; all numbers are exact.
  kCapped,    // Evicts beyond its capacity.
  kShort,     // Rows expire.
  kChoosy,    // Admits an id at its second lookup.
  kLate,      // Has no optimizer at first.
  kFiltered,  // Has a filter, maybe too large.
  kSlotCount
};

enum class Variant { kUsual, kOther, kTooLarge, kInvalid };

inline constexpr uint32_t kTimeToLive = 6;         // In lookups, for kShort.
inline constexpr uint64_t kCappedRows = 16;        // Over all shards.
inline constexpr uint64_t kMostTables = 7;         // The limit of a shard.
inline constexpr uint64_t kMostMemory = 16 << 20;  // The limit of a shard.
inline constexpr float kRate = 0.25f;

// A table of `job`.
TableConfig ConfigOf(int job, Slot slot, Variant variant);

// Whether the table's own rules may remove rows, or not admit them.
bool IsSelective(const TableConfig& config);
bool Expires(const TableConfig& config);
bool IsCapped(const TableConfig& config);

ModelRow InitialRow(const TableConfig& config, int64_t id);

// What an update by finite numbers does to a row, if the optimizer is decided.
void StepRow(const TableConfig& config, const std::vector<float>& gradient,
             ModelRow* row);

// The state of a new row.
std::vector<float> InitialState(const TableConfig& config);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_TABLES_H_
