"""The limits of the native core. A test compares them with the sources in cc/."""

from __future__ import annotations

# cc/base/slots.h: slots, and the most shards whose numbers are bytes.
SLOTS = 1 << 14
MOST_BYTE_OWNERS = 256

# cc/server/server.h, `ServerOptions`.
MAX_CONNECTIONS = 1024
MAX_IN_FLIGHT = 64
MAX_UNWRITTEN_TOTAL_BYTES = 1 << 30

# cc/wire/frame.h.
MAX_BODY_BYTES = 1 << 30

# cc/wire/request_limits.h.
MAX_REQUEST_TABLES = 1 << 14
MAX_REQUEST_IDS = 1 << 24

# cc/shard/trainers.h: the programs that a shard's statistics name.
MOST_TRAINERS = 1024

# cc/store/row_index.h: numbers of rows are of 32 bits, and the last one means none.
MOST_ROWS_OF_SUB_SHARD = (1 << 32) - 1

# cc/journal/journal.h: the log is replaced by a base once it has grown by this many
# bytes, or by those of the rows if these are more.
LEAST_BASE_BYTES = 1 << 30

# persia_tf/commands/ps.py: --max-tables.
MAX_TABLES = 4096
