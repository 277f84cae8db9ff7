// Defines the ops' attribute `absent`: what a lookup returns for ids without a
// row.

#ifndef PERSIA_CC_OPS_ABSENT_ROWS_H_
#define PERSIA_CC_OPS_ABSENT_ROWS_H_

#include <string>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// The definition of the attribute `absent`. Its default, 'zeros', is the
// behaviour of graphs that were saved before the attribute existed.
inline constexpr char kAbsentAttr[] =
    "absent: {'zeros', 'initial', 'marked'} = 'zeros'";

inline Result<AbsentRows> ParseAbsentRows(const std::string& text) {
  if (text == "zeros") return AbsentRows::kDefault;
  if (text == "initial") return AbsentRows::kInitial;
  if (text == "marked") return AbsentRows::kMarked;
  return InvalidArgument("absent must be zeros, initial or marked, received \"",
                         text, "\"");
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_ABSENT_ROWS_H_
