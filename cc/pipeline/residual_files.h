// The files in which a checkpoint stores the residuals of error feedback.
//
//   file  = u32 magic "PRR1" (0x31525250), u32 CRC-32C of all parts, part ...
//   part  = u64 table, u32 dim, u32 count,
//           count x i64 id, count x dim x f32 value, zeros to a multiple of 8
//
// All numbers are little-endian. A table may have several parts, in several
// files, in any order.

#ifndef PERSIA_CC_PIPELINE_RESIDUAL_FILES_H_
#define PERSIA_CC_PIPELINE_RESIDUAL_FILES_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/pipeline/residuals.h"
#include "cc/service/files_request.h"

namespace persia {

// Returns the contents of the files, each of at most `most_bytes`, which must
// have room for one id of each table. Throws std::bad_alloc if there is no
// memory.
std::vector<std::vector<uint8_t>> EncodeResiduals(
    const std::vector<TableResiduals>& tables,
    uint64_t most_bytes = FilesRequest::kMostBytes);

// The inverse: `tables` gets one entry per table. kDataLoss if a file is
// damaged; `tables` is then undefined. The files may be at any address. Throws
// std::bad_alloc if there is no memory.
Status DecodeResiduals(Span<const ConstBytes> files,
                       std::vector<TableResiduals>* tables);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_RESIDUAL_FILES_H_
