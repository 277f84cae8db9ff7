"""What a program adds to a checkpoint of rows, such as its dense weights.

It lies in files of at most 16 MiB, as large as shards write them at once. Each begins
with the CRC-32 of the rest, of 4 bytes, the least significant first.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from persia_tf import errors
from persia_tf.checkpoint.folders import Files

_CRC_BYTES = 4
_PIECE_BYTES = (16 << 20) - _CRC_BYTES


def write(files: Files, folder: str, contents: bytes) -> tuple[str, ...]:
    """Writes a program's bytes to a checkpoint's folder.

    Returns:
        The names of the files: none if there are no bytes.
    """
    starts = range(0, len(contents), _PIECE_BYTES)
    names = tuple(f"extra-{i:05d}-of-{len(starts):05d}" for i in range(len(starts)))
    for name, start in zip(names, starts):
        piece = contents[start : start + _PIECE_BYTES]
        files.write_file(folder, name, _crc(piece) + piece)
    return names


def read(files: Files, folder: str, names: Sequence[str]) -> bytes:
    """Returns what `write` wrote.

    Raises:
        DataLossError: if a file is damaged.
        PersiaError: if a file cannot be read.
    """
    pieces = []
    for name in names:
        content = files.read_file(folder, name)
        piece = content[_CRC_BYTES:]
        if content[:_CRC_BYTES] != _crc(piece):
            raise errors.DataLossError(
                f"{folder}/{name} is damaged. Restore an earlier checkpoint."
            )
        pieces.append(piece)
    return b"".join(pieces)


def _crc(piece: bytes) -> bytes:
    return zlib.crc32(piece).to_bytes(_CRC_BYTES, "little")
