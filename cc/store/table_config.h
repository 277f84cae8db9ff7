// TableConfig: the settings of a table. Two clients that use the same table
// must agree on all of them.

#ifndef PERSIA_CC_STORE_TABLE_CONFIG_H_
#define PERSIA_CC_STORE_TABLE_CONFIG_H_

#include <cstdint>
#include <string>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// Requests identify a table by its TableKey, the HashName of its full name. A
// key needs no registration, so it stays valid when a server restarts.
using TableKey = uint64_t;

struct TableConfig {
  std::string name;  // Full name, the namespace included.
  uint32_t dim = 0;  // Weights per row.
  Spec initializer;  // A new row's weights.
  Spec optimizer;    // The update rule; determines the row's state.
  Spec row_dtype{"float32", {}};   // How weights are stored: see RowFormat.
  Spec capacity{"unlimited", {}};  // Upper limit of the table: see Capacity.
  Spec admission{"always", {}};    // Which ids get a row: see Admission.
  Spec eviction{"never", {}};      // Which rows are evicted: see Eviction.
  // Seeds the initial values of rows, together with the table's name.
  uint64_t seed = 0;
  // The value of each weight that a read-only lookup returns for an absent id.
  float default_value = 0.0f;

  // Returns InvalidArgument for a setting that is not valid. The message names
  // the field, the permitted values and the value received.
  Status Validate() const;

  // All settings except the name, in one line.
  std::string Describe() const;
  // Like Describe, but without settings that have their default values.
  std::string DescribeChosen() const;
};

// Returns AlreadyExists if the settings `held` of an existing table differ from
// the requested settings `asked_for`. The message has the settings that differ
// and a remedy. An undecided optimizer on either side matches any optimizer.
Status CheckSameTable(const TableConfig& held, const TableConfig& asked_for);

inline constexpr uint32_t kMaxDim = 1u << 16;
inline constexpr size_t kMaxTableNameBytes = 1024;

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_CONFIG_H_
