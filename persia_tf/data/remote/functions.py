"""Python functions that a dataset calls by name, in whichever process runs it.

`tf.numpy_function` names a function by a number that means nothing in another process.
These names mean the same in trainers and in data workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.data.reading.handing import PLACE_SPEC
from persia_tf.data.remote import reading

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "persia_data_open": reading.open_unit,
    "persia_data_read": reading.read_batch,
}
NAMES = frozenset(_FUNCTIONS)


def register() -> None:
    """Makes the functions known to this process's datasets."""
    # TensorFlow has no public way to choose a function's name.
    from tensorflow.python.ops import script_ops

    script_ops._py_funcs._funcs.update(_FUNCTIONS)


def open_unit(
    recipe: str, epoch: int, start: int, end: int, unit: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns tensors of a handle, the first batch to read, and the end.

    Args:
        recipe: The JSON of a `Recipe`.
        epoch: The number of the epoch.
        start: The first batch of the epoch that is wanted.
        end: The batch before which to stop.
        unit: A tensor of the number of a unit.
    """
    kinds = [tf.int64] * 3
    numbers = [tf.constant(each, tf.int64) for each in (epoch, start, end)]
    handle, first, last = tf.raw_ops.PyFunc(
        input=[tf.constant(recipe), *numbers, unit],
        token="persia_data_open",
        Tout=kinds,
    )
    return tuple(tf.ensure_shape(each, []) for each in (handle, first, last))


def read_batch(handle: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns tensors of the process that reads, and of the next batch's place.

    Args:
        handle: That of `open_unit`.
    """
    process, place = tf.raw_ops.PyFunc(
        input=[handle], token="persia_data_read", Tout=[tf.int64, PLACE_SPEC.dtype]
    )
    return tf.ensure_shape(process, []), tf.ensure_shape(place, PLACE_SPEC.shape)
