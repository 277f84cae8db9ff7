"""Reads files of records, as TensorFlow writes them."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf import errors
from persia_tf.data.reading.opening import pyarrow
from persia_tf.data.reading.parts import Format, Part
from persia_tf.native import capi

# A part has the records that begin in a range of so many bytes, and is read in memory.
_PART_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
# Of a record, its length and a checksum are before it, and a checksum after it.
_HEAD = struct.Struct("<Q4x")
_AROUND = _HEAD.size + 4
# That zlib tells by a file's head whether it is GZIP's or ZLIB's.
_ANY_HEAD = 32 + zlib.MAX_WBITS


class TFRecordFiles(Format):
    """Reads records, as one column of bytes.

    Args:
        compression: `"GZIP"`, `"ZLIB"`, or None.
    """

    def __init__(self, compression: str | None) -> None:
        self._pa = pyarrow()
        self._compression = compression

    @property
    def schema(self) -> Any:
        """The one column of what `read` returns, as a `pyarrow.Schema`."""
        return self._pa.schema([("record", self._pa.large_binary())])

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that make the same reader."""
        return {"compression": self._compression}

    def parts(self, file: str) -> list[Part]:
        """Returns ranges of bytes; of a small or compressed file, the whole of it."""
        with _named(file):
            size = tf.io.gfile.stat(file).length
            # What is compressed has no record at a place that is known.
            if self._compression or size <= _PART_BYTES:
                return [Part(file, 0, size, None)]
            return list(_ranges(file, size))

    def read(self, part: Part) -> Any:
        """Reads the records of a part."""
        with _named(part.file):
            records = self._unpacked(self._bytes(part))
        if part.rows not in (None, len(records)):
            raise errors.DataLossError(
                f"{part.file!r} has changed since the dataset was made: from byte "
                f"{part.start} on it had {part.rows} records; make the dataset again"
            )
        return self._pa.table([records], schema=self.schema)

    def _bytes(self, part: Part) -> np.ndarray:
        with tf.io.gfile.GFile(part.file, "rb") as source:
            source.seek(part.start)
            contents = source.read(part.end - part.start)
        if self._compression:
            # Of both kinds; several may follow each other in a file.
            contents = b"".join(_decompressed(contents))
        return np.frombuffer(bytearray(contents), np.uint8)

    def _unpacked(self, records: np.ndarray) -> Any:
        pa = self._pa
        offsets = np.empty(len(records) // _AROUND + 1, np.int64)
        count = ctypes.c_uint64()
        capi.library().persia_records_unpack(
            *(records.ctypes.data, len(records)),
            offsets.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)),
            ctypes.byref(count),
        )
        # A copy, so that the room for the most records is not kept.
        offsets = offsets[: count.value + 1].copy()
        return pa.LargeBinaryArray.from_buffers(
            *(pa.large_binary(), count.value),
            [None, pa.py_buffer(offsets), pa.py_buffer(records[: offsets[-1]])],
        )


def _ranges(file: str, size: int) -> Iterator[Part]:
    """Yields parts of about the same size, given where each record begins."""
    start = end = rows = 0
    for end in _ends(file):
        rows += 1
        if end - start >= _PART_BYTES:
            yield Part(file, start, end, rows)
            start, rows = end, 0
    if end != size:
        raise errors.DataLossError(
            f"cannot read {file!r}: the record at byte {end} is longer than what is "
            f"left of the file's {size} bytes"
        )
    if rows:
        yield Part(file, start, end, rows)


def _ends(file: str) -> Iterator[int]:
    """Yields where each record ends that is whole, as the lengths tell."""
    with tf.io.gfile.GFile(file, "rb") as source:
        size = source.size()
        begin = 0
        while begin + _HEAD.size <= size:
            source.seek(begin)
            chunk = source.read(_CHUNK_BYTES)
            at = 0
            while at + _HEAD.size <= len(chunk):
                at += _HEAD.unpack_from(chunk, at)[0] + _AROUND
                if begin + at > size:
                    return
                yield begin + at
            if not at:
                return
            begin += at


def _decompressed(contents: bytes) -> Iterator[bytes]:
    while contents:
        unpacker = zlib.decompressobj(_ANY_HEAD)
        yield unpacker.decompress(contents)
        yield unpacker.flush()
        if not unpacker.eof:
            raise errors.DataLossError("it ends before its compressed data do")
        contents = unpacker.unused_data


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """Converts errors to those of persia_tf, with the file's name."""
    try:
        yield
    except tf.errors.NotFoundError as error:
        raise errors.NotFoundError(f"there is no file {file!r}") from error
    except (errors.DataLossError, zlib.error) as error:
        raise errors.DataLossError(f"cannot read {file!r}: {error}") from error
    except tf.errors.OpError as error:
        raise errors.UnavailableError(
            f"cannot read {file!r}: {error.message}"
        ) from error
