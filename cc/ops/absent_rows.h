// What ids without a row get, as the ops take it.

#ifndef PERSIA_CC_OPS_ABSENT_ROWS_H_
#define PERSIA_CC_OPS_ABSENT_ROWS_H_

#include <string>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// The attribute of a lookup's op. Its default is what graphs meant that were
// written before it was there.
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
