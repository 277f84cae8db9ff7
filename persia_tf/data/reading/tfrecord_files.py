"""Reads files of records, as TensorFlow writes them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.data.reading.opening import pyarrow
from persia_tf.data.reading.parts import Format, Part

_RECORDS = 4096


class TFRecordFiles(Format):
    """Reads whole files, as one column of bytes.

    Args:
        compression: `"GZIP"`, `"ZLIB"`, or None.
    """

    def __init__(self, compression: str | None) -> None:
        self._pa = pyarrow()
        self._compression = compression

    @property
    def schema(self) -> Any:
        """The one column of what `read` returns, as a `pyarrow.Schema`."""
        return self._pa.schema([("record", self._pa.binary())])

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that make the same reader."""
        return {"compression": self._compression}

    def parts(self, file: str) -> list[Part]:
        """Returns the whole file."""
        return [Part(file, 0, 1, None)]

    def read(self, part: Part) -> Any:
        """Reads all records of a file."""
        records = tf.data.TFRecordDataset(part.file, self._compression)
        try:
            chunks = [
                self._pa.array(chunk, self._pa.binary())
                for chunk in records.batch(_RECORDS).as_numpy_iterator()
            ]
        except tf.errors.DataLossError as error:
            raise errors.DataLossError(
                f"cannot read {part.file!r}: {error.message}"
            ) from error
        column = self._pa.chunked_array(chunks, self._pa.binary())
        return self._pa.table([column], schema=self.schema)
