"""Hands batches of pyarrow to TensorFlow without a copy by Python."""

from __future__ import annotations

import ctypes
from typing import Any

import tensorflow as tf

from persia_tf.native import capi

# The size of an `ArrowArray` of Arrow's C data interface.
_ARRAY_BYTES = 80

# The number of a box, that of a table in it, a row, and a number of rows.
PLACE_SPEC = tf.TensorSpec([4], tf.int64)


class BatchBox:
    """Holds batches until ops take them: see `Columns.taken`.

    TensorFlow copies an array that a generator yields, into memory that the system
    clears first. So a generator yields the place where a batch is instead.
    """

    def __init__(self) -> None:
        self._library = capi.library()
        self._number = self._library.persia_batches_open()

    def put(self, batch: Any, times: int = 1) -> tuple[int, int]:
        """Puts rows into the box.

        Args:
            batch: A `pyarrow.RecordBatch`.
            times: How often ops will take rows of it.

        Returns:
            The numbers of the box, and of the rows in it.
        """
        exported = (ctypes.c_byte * _ARRAY_BYTES)()
        batch._export_to_c(ctypes.addressof(exported))
        number = ctypes.c_int64()
        self._library.persia_batches_put(
            *(self._number, ctypes.addressof(exported), times), ctypes.byref(number)
        )
        return self._number, number.value

    def finish(self) -> None:
        """Says that no batch follows; an op may still take those that are left."""
        self._library.persia_batches_finish(self._number)

    def close(self) -> None:
        """Frees the batches that no op has taken."""
        self._library.persia_batches_close(self._number)
