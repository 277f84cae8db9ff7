// How a TableConfig is encoded in a message or a file:
//
//   config = dim, default value: 32 bits each; seed: 64 bits;
//            name, initializer, optimizer, row_dtype, capacity, admission,
//            eviction: texts

#ifndef PERSIA_CC_STORE_TABLE_CONFIG_CODEC_H_
#define PERSIA_CC_STORE_TABLE_CONFIG_CODEC_H_

#include "cc/base/byte_reader.h"
#include "cc/base/byte_writer.h"
#include "cc/base/status.h"
#include "cc/store/table_config.h"

namespace persia {

// The encoded size of a config whose texts are all empty.
inline constexpr size_t kLeastTableConfigBytes = 72;

void WriteTableConfig(const TableConfig& config, ByteWriter* writer);

// Reads a config. Returns InvalidArgument for a text that is not a Spec, and
// checks nothing else. If the bytes end too early, reader->failed() is true.
Status ReadTableConfig(ByteReader* reader, TableConfig* config);

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_CONFIG_CODEC_H_
