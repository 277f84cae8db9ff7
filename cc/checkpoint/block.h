// Blocks: the parts of a checkpoint's files. All numbers are little-endian.
//
//   file  = File { Table { Erased } { Rows } } Clients End
//   block = head body
//   head (24 bytes) =
//     offset  size
//     0       4    type
//     4       4    0
//     8       8    body length in bytes
//     16      4    CRC-32C of the body
//     20      4    CRC-32C of head bytes 0 to 19
//
//   File    = "PCKP", format version, 32 bits each; save id, id of the save
//             that this one is an increment of (0: it is whole), 64 bits each;
//             shard index, shard count, 32 bits each
//   Table   = row bytes, use offset, state offset, time, scope, 32 bits each;
//             config, see table_config_codec.h. The time is that of the
//             table's clock (see RowUse) when the rows were saved. The scope is
//             a SaveScope: changes only in an increment, for a table that its
//             parent has
//   Erased  = count, 64 bits; that many ids, 64 bits each, of the last Table,
//             whose rows are removed, unless a later Rows block has them. Only
//             if the scope is changes
//   Rows    = count, 64 bits; that many ids, 64 bits each, and as many rows of
//             the last Table, see RowFormat
//   Clients = count, 64 bits; for each its number and the highest sequence
//             applied, 64 bits each, and 16 words of 64 bits: bit i says
//             whether sequence (highest - i) was applied
//   End     = number of rows, number of erased ids in all, 64 bits each
//
// A file ends with its End block: a truncated file lacks it. The save id is the
// same in all files of one checkpoint, and in no other. A reader refuses any
// version but its own.
//
// An increment can only be loaded with its parent's file of the same shard, and
// so on: a chain, which starts with a whole file. An increment's rows replace
// those of older files; its clients replace all older clients.

#ifndef PERSIA_CC_CHECKPOINT_BLOCK_H_
#define PERSIA_CC_CHECKPOINT_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

enum class BlockType : uint32_t {
  kFile = 1,
  kTable = 2,
  kErased = 3,
  kRows = 4,
  kClients = 5,
  kEnd = 6,
};

inline constexpr uint32_t kCheckpointMagic = 0x504b4350;
inline constexpr uint32_t kCheckpointVersion = 2;
inline constexpr size_t kBlockHeadBytes = 24;
// No writer makes larger blocks, and no reader allocates memory for them.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{64} << 20;

struct BlockHead {
  BlockType type = BlockType::kEnd;
  uint64_t body_bytes = 0;
  uint32_t body_crc = 0;
};

void EncodeBlockHead(const BlockHead& head,
                     Span<uint8_t, kBlockHeadBytes> bytes);

// kDataLoss: not a block's head, or a corrupt one, or the body is too large.
Status DecodeBlockHead(Span<const uint8_t, kBlockHeadBytes> bytes,
                       BlockHead* head);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_BLOCK_H_
