"""Hands messages of Arrow to TensorFlow without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.data.reading.opening import pyarrow
from persia_tf.native import capi
from persia_tf.ops import load

# The size of an `ArrowArray` of Arrow's C data interface.
_ARRAY_BYTES = 80

PLACE_SPEC = tf.TensorSpec([2], tf.int64)
# Where no message is.
NO_PLACE = np.full(2, -1, np.int64)


class MessageBox:
    """Holds messages until ops take them, each once.

    TensorFlow copies an array that a generator yields, into memory that the system
    clears first, which costs more than to make the message. Instead, the generator
    yields the place where the message is.
    """

    def __init__(self) -> None:
        self._pa = pyarrow()
        self._library = capi.library()
        self._number = self._library.persia_messages_open()

    def put(self, message: Any) -> np.ndarray:
        """Returns the place of a message, which is a `pyarrow.Buffer`."""
        pa = self._pa
        array = pa.Array.from_buffers(pa.uint8(), message.size, [None, message])
        exported = (ctypes.c_byte * _ARRAY_BYTES)()
        array._export_to_c(ctypes.addressof(exported))
        number = ctypes.c_int64()
        self._library.persia_messages_put(
            self._number, ctypes.addressof(exported), ctypes.byref(number)
        )
        return np.array([self._number, number.value])

    def close(self) -> None:
        """Frees the messages that no op has taken."""
        self._library.persia_messages_close(self._number)


def take(place: tf.Tensor) -> tf.Tensor:
    """Returns the bytes of a message, given the place where it was put."""
    message = load.ops().persia_take_message(place=place)
    message.set_shape([None])
    return message
