// How requests encode TableIds: a record of fixed size per table, and, after
// all records, the tables' arrays.

#ifndef PERSIA_CC_WIRE_TABLE_IDS_CODEC_H_
#define PERSIA_CC_WIRE_TABLE_IDS_CODEC_H_

#include <cstdint>

#include "cc/base/byte_reader.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame_writer.h"

namespace persia {

inline constexpr size_t kTableRecordBytes = 40;

// A record: what it says of the arrays that follow later.
struct TableRecord {
  TableIds ids;  // Its spans are empty.
  uint64_t id_count = 0;
  uint64_t offset_count = 0;
  uint64_t weight_count = 0;
};

void WriteTableRecord(const TableIds& ids, FrameWriter* writer);
void WriteTableArrays(const TableIds& ids, FrameWriter* writer);

TableRecord ReadTableRecord(ByteReader* reader);
// ReadTableArrays returns empty arrays if the reader has failed, so check the
// reader first. CheckTableIds: kInvalidArgument if the ids, offsets and weights
// are inconsistent.
TableIds ReadTableArrays(const TableRecord& record, ByteReader* reader);
Status CheckTableIds(const TableIds& ids);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_TABLE_IDS_CODEC_H_
