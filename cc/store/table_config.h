// TableConfig: what makes a table. Two clients that name one table must agree
// on all of it.

#ifndef PERSIA_CC_STORE_TABLE_CONFIG_H_
#define PERSIA_CC_STORE_TABLE_CONFIG_H_

#include <cstdint>
#include <string>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// HashName of the table's full name: how requests name tables. It needs no
// registration, so it survives a server's restart.
using TableKey = uint64_t;

struct TableConfig {
  std::string name;                // Full name, the namespace included.
  uint32_t dim = 0;                // Weights a row.
  Spec initializer;                // A new row's weights.
  Spec optimizer;                  // The update rule; sets the row's state.
  Spec row_dtype{"float32", {}};   // How weights are held: see RowFormat.
  Spec capacity{"unlimited", {}};  // Most that the table holds: see Capacity.
  Spec admission{"always", {}};    // Which ids get a row: see Admission.
  Spec eviction{"never", {}};      // Which rows leave: see Eviction.
  uint64_t seed = 0;           // Joins the name in every row's initial value.
  float default_value = 0.0f;  // Every weight of an absent id, when read only.
  // Which part of the table this store holds. A client whose list of shards
  // has another order or length would find rows in the wrong places.
  uint32_t shard_index = 0;
  uint32_t shard_count = 1;

  // InvalidArgument naming the field, the rule and the value.
  Status Validate() const;

  // All settings but the name, in one line.
  std::string Describe() const;
  // The same without what is as it is unless somebody asks for another.
  std::string DescribeChosen() const;
};

// AlreadyExists, showing the settings that differ and what to do, if the table
// that is held is not what is asked for. An optimizer that is undecided, on
// either side, is no other.
Status CheckSameTable(const TableConfig& held, const TableConfig& asked_for);

inline constexpr uint32_t kMaxDim = 1u << 16;
inline constexpr size_t kMaxTableNameBytes = 1024;

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_CONFIG_H_
