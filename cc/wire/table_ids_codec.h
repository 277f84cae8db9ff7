// How requests carry TableIds: a record of fixed size, and arrays behind all
// records.

#ifndef PERSIA_CC_WIRE_TABLE_IDS_CODEC_H_
#define PERSIA_CC_WIRE_TABLE_IDS_CODEC_H_

#include <cstdint>

#include "cc/base/byte_reader.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame_writer.h"

namespace persia {

inline constexpr size_t kTableRecordBytes = 40;

// What a record says of the arrays that follow later.
struct TableRecord {
  TableIds ids;  // Without its spans.
  uint64_t id_count = 0;
  uint64_t offset_count = 0;
  uint64_t weight_count = 0;
};

void WriteTableRecord(const TableIds& ids, FrameWriter* writer);
void WriteTableArrays(const TableIds& ids, FrameWriter* writer);

TableRecord ReadTableRecord(ByteReader* reader);
// kInvalidArgument if what was read contradicts itself. Look at the reader
// first: a failed one gives empty arrays.
TableIds ReadTableArrays(const TableRecord& record, ByteReader* reader);
Status CheckTableIds(const TableIds& ids);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_TABLE_IDS_CODEC_H_
