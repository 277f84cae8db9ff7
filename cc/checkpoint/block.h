// The binary format of a checkpoint's files, which consist of blocks. All
// numbers are little-endian.
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
//   File    = "PCKP", format version, 32 bits each; save id, save id of the
//             parent if this save is an increment, else 0, id of the shard,
//             count, 64 bits each; `count` words of 64 bits, the slots whose
//             rows the file holds: see ToWords in slot_set.h
//   Table   = row bytes, use offset, state offset, time, scope, 32 bits each;
//             config, see table_config_codec.h. The time is what the table's
//             clock (see RowUse) showed when the rows were saved. The scope is
//             a SaveScope: kChanges in an increment if an older file of its
//             chain has the table, otherwise kWhole
//   Erased  = count, 64 bits; `count` ids, 64 bits each. Their rows are removed
//             from the table of the last Table block, unless a later Rows block
//             has them. Present only if the table's scope is kChanges
//   Rows    = count, 64 bits; `count` ids, 64 bits each, and as many rows of
//             the last Table, see RowFormat
//   Clients = count, 64 bits; for each client its number and the highest
//             sequence number of its applied updates, 64 bits each, and 16
//             words of 64 bits: bit i tells whether update (highest - i) was
//             applied
//   End     = number of rows in the file, number of erased ids, 64 bits each
//
// A file without an End block is truncated. All files of one checkpoint have
// the same save id, which no other checkpoint has, and together they hold each
// slot once. A reader refuses every format version except its own.
//
// An increment can only be loaded together with its parent's file of the same
// shard, which holds the same slots. If the parent is an increment too, its own
// parent is needed, and so on. These files form a chain, whose first file is
// whole. An increment's rows replace those of older files, and its Clients
// block replaces all older ones.

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
inline constexpr uint32_t kCheckpointVersion = 3;
inline constexpr size_t kBlockHeadBytes = 24;
// The size limit of a block's body. A writer makes no larger blocks, and a
// reader refuses them before it allocates memory.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{64} << 20;

struct BlockHead {
  BlockType type = BlockType::kEnd;
  uint64_t body_bytes = 0;
  uint32_t body_crc = 0;
};

void EncodeBlockHead(const BlockHead& head,
                     Span<uint8_t, kBlockHeadBytes> bytes);

// Returns kDataLoss if the bytes are no block head, if the head is corrupt, or
// if the body would be too large.
Status DecodeBlockHead(Span<const uint8_t, kBlockHeadBytes> bytes,
                       BlockHead* head);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_BLOCK_H_
