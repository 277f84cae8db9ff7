// MissingTable: the error of a table that is not there. Requests name tables by
// their keys, so a store cannot say which table it lacks; who asked can.

#ifndef PERSIA_CC_STORE_MISSING_TABLE_H_
#define PERSIA_CC_STORE_MISSING_TABLE_H_

#include <optional>
#include <string>

#include "cc/base/status.h"
#include "cc/store/table_config.h"

namespace persia {

// kNotFound.
Status MissingTable(TableKey key);

// The key, if `status` is such an error, whatever was put before its message on
// the way.
std::optional<TableKey> MissingTableKey(const Status& status);

// Such an error with the table's name, the cause and what to do.
Status NamedMissingTable(const Status& status, const std::string& table);

}  // namespace persia

#endif  // PERSIA_CC_STORE_MISSING_TABLE_H_
