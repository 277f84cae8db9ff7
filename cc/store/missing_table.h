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

// Returns the kNotFound error for a key that no table has.
Status MissingTable(TableKey key);

// Returns the key in an error of MissingTable, even if a prefix was added to
// its message on the way. Returns nullopt for other errors.
std::optional<TableKey> MissingTableKey(const Status& status);

// Returns the error `status` of MissingTable with a message that has the
// table's name, the cause and a remedy.
Status NamedMissingTable(const Status& status, const std::string& table);

}  // namespace persia

#endif  // PERSIA_CC_STORE_MISSING_TABLE_H_
