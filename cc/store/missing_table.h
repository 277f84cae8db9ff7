// MissingTable: the error for a table that does not exist. Requests name tables
// by their keys, so a store cannot report the name of the table, but the client
// can.

#ifndef PERSIA_CC_STORE_MISSING_TABLE_H_
#define PERSIA_CC_STORE_MISSING_TABLE_H_

#include <optional>
#include <string>

#include "cc/base/status.h"
#include "cc/store/table_config.h"

namespace persia {

// Returns kNotFound.
Status MissingTable(TableKey key);

// The table's key, if `status` is such an error, even with a prefix added to
// its message on the way.
std::optional<TableKey> MissingTableKey(const Status& status);

// The same error with the table's name, the cause and what to do.
Status NamedMissingTable(const Status& status, const std::string& table);

}  // namespace persia

#endif  // PERSIA_CC_STORE_MISSING_TABLE_H_
