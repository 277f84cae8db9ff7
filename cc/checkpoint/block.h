// Blocks: what the files of a checkpoint are made of. All numbers are
// little-endian.
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
//             config, see table_config_codec.h. The time is RowUse's, when the
//             rows were as they are here. The scope is SaveScope's: changes
//             only in an increment, of a table that its parent has
//   Erased  = count, 64 bits; that many ids, 64 bits each, that have no row in
//             the last Table any more, unless the Rows after it give one. Only
//             of changes
//   Rows    = count, 64 bits; that many ids, 64 bits each, and as many rows of
//             the last Table, see RowFormat
//   Clients = count, 64 bits; for each its number and the highest sequence
//             applied, 64 bits each, and 16 words of 64 bits: bit i says
//             whether sequence (highest - i) was applied
//   End     = number of rows, number of erased ids in all, 64 bits each
//
// A file ends with its End block: one that was cut short lacks it. The save id
// is the same in all files of one checkpoint, and in no other. A reader refuses
// any version but its own.
//
// An increment is of use with its parent's file of the same shard: a chain, at
// whose end is a whole one. Its rows take the place of older ones, its clients
// of all older ones.

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
// No writer makes larger ones, and no reader makes room for them.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{64} << 20;

struct BlockHead {
  BlockType type = BlockType::kEnd;
  uint64_t body_bytes = 0;
  uint32_t body_crc = 0;
};

void EncodeBlockHead(const BlockHead& head,
                     Span<uint8_t, kBlockHeadBytes> bytes);

// kDataLoss: no head, or a corrupt one, or one of too large a body.
Status DecodeBlockHead(Span<const uint8_t, kBlockHeadBytes> bytes,
                       BlockHead* head);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_BLOCK_H_
