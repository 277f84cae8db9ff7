// VisitRecords: reads records that LogTail has read.
//
// Thread-safety: a pure function.

#ifndef PERSIA_CC_LOG_RECORD_VISITOR_H_
#define PERSIA_CC_LOG_RECORD_VISITOR_H_

#include <cstdint>
#include <functional>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/log/segment_scanner.h"

namespace persia {

// Calls `visit` for each record in `bytes`, of which the first must have the
// position `first`. The bytes must begin at a multiple of 8. Returns kDataLoss
// if they are damaged, and the first error of `visit`.
Status VisitRecords(Span<const uint8_t> bytes, uint64_t first,
                    const std::function<Status(const LogRecord&)>& visit);

}  // namespace persia

#endif  // PERSIA_CC_LOG_RECORD_VISITOR_H_
