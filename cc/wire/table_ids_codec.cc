#include "cc/wire/table_ids_codec.h"

#include "cc/service/pooling.h"

namespace persia {
void WriteTableRecord(const TableIds& ids, FrameWriter* writer) {
  writer->U64(ids.table);
  writer->U64(ids.ids.size());
  writer->U32(ids.dim);
  writer->U32(static_cast<uint32_t>(ids.combiner));
  writer->U64(ids.bag_offsets.size());
  writer->U64(ids.weights.size());
}

void WriteTableArrays(const TableIds& ids, FrameWriter* writer) {
  writer->Array(ids.ids);
  writer->Array(ids.bag_offsets);
  writer->PadArrays();
  writer->Array(ids.weights);
  writer->PadArrays();
}

TableRecord ReadTableRecord(ByteReader* reader) {
  TableRecord record;
  record.ids.table = reader->U64();
  record.id_count = reader->U64();
  record.ids.dim = reader->U32();
  record.ids.combiner = static_cast<Combiner>(reader->U32());
  record.offset_count = reader->U64();
  record.weight_count = reader->U64();
  return record;
}

TableIds ReadTableArrays(const TableRecord& record, ByteReader* reader) {
  TableIds ids = record.ids;
  ids.ids = reader->Array<int64_t>(record.id_count);
  ids.bag_offsets = reader->Array<uint32_t>(record.offset_count);
  reader->SkipPadding();
  ids.weights = reader->Array<float>(record.weight_count);
  reader->SkipPadding();
  return ids;
}

Status CheckTableIds(const TableIds& ids) {
  if (ids.dim < 1 || ids.dim > kMaxDim) {
    return InvalidArgument("dim must be in [1, ", kMaxDim, "], received ",
                           ids.dim);
  }
  return CheckBags(ids);
}

}  // namespace persia
