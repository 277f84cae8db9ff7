"""How many bytes a checkpoint of tables has.

Each shard writes one file, whose format is in `cc/checkpoint/block.h`.
"""

from __future__ import annotations

from collections.abc import Iterable

from persia_tf.client.session import TableSettings
from persia_tf.native.capi import SLOTS

_BLOCK_HEAD_BYTES = 24
_ROWS_BLOCK_BYTES = 1 << 20
_ID_BYTES = 8
_FILE_BYTES = _BLOCK_HEAD_BYTES + 8 + 3 * 8 + 8 + SLOTS // 8
_CLIENTS_BYTES = _BLOCK_HEAD_BYTES + 8 + (2 + 16) * 8  # Of one client.
_END_BYTES = _BLOCK_HEAD_BYTES + 16
_TABLE_BYTES = _BLOCK_HEAD_BYTES + 5 * 4 + 16


def rows_size(rows: float, row_bytes: int) -> float:
    """Returns the bytes of a table's rows, with their ids, optimizer state included.

    Args:
        rows: How many rows the table has.
        row_bytes: The bytes of a row: see `RowLayout`.
    """
    each = _ID_BYTES + row_bytes
    per_block = max(1, _ROWS_BLOCK_BYTES // each)
    return rows * (each + (_BLOCK_HEAD_BYTES + 8) / per_block)


def files_size(settings: Iterable[tuple[str, TableSettings]], shards: int) -> float:
    """Returns the bytes of the files of all shards without their rows.

    Args:
        settings: The full name and the settings of each table.
        shards: The number of shards.
    """
    of_tables = sum(
        _TABLE_BYTES + sum(_text_bytes(text) for text in _texts(name, each))
        for name, each in settings
    )
    return shards * (_FILE_BYTES + of_tables + _CLIENTS_BYTES + _END_BYTES)


def _texts(name: str, settings: TableSettings) -> list[str]:
    return [
        name,
        settings.initializer,
        settings.optimizer,
        settings.row_dtype,
        settings.capacity,
        settings.admission,
        settings.eviction,
    ]


def _text_bytes(text: str) -> int:
    return -(-(4 + len(text.encode())) // 8) * 8
