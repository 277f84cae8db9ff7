"""Converts the layer's input, integers or strings, dense or not, to int64 ids."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import not_equal
from persia_tf.layers.placeholders import is_placeholder_of_shape
from persia_tf.ops.placement import on_host

# Hashes are from 1 to 2**63 - 2: never negative, and 0 is reserved for padding.
_MOST_HASHES = 2**63 - 2

# The types whose values all fit int64, and strings, which are hashed.
DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"),
    "string",
)


def checked_ids(
    inputs: Any, layer: str, combiner: str | None, mask_zero: bool
) -> tf.Tensor | tf.RaggedTensor:
    """Checks the layer's input, and hashes strings.

    Args:
        inputs: Integers or strings: dense, ragged or sparse.
        layer: The layer's name, for messages.
        combiner: The layer's combiner.
        mask_zero: Whether the empty string is padding, as id 0 is.

    Returns:
        int64, dense or ragged. Sparse ids become ragged, since pooling does not depend
        on their column indices.

    Raises:
        ValueError: for ids of another dtype, for a rank too low for the combiner, and
            for sparse ids without a combiner.
    """
    is_composite = isinstance(inputs, (tf.SparseTensor, tf.RaggedTensor))
    ids = inputs if is_composite else _as_tensor(inputs, layer)
    if not is_composite and is_placeholder_of_shape(ids):
        ids = tf.cast(ids, tf.int64)
    check_dtype(ids.dtype.name, layer)
    if ids.dtype != tf.string:
        ids = tf.cast(ids, tf.int64)
    if isinstance(ids, tf.SparseTensor):
        ids = _rows_of(ids, layer, combiner)
    if combiner is not None:
        check_rank(ids.shape.rank, layer, combiner)
    if ids.dtype != tf.string:
        return ids
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(_hashes(ids.flat_values, mask_zero))
    return _hashes(ids, mask_zero)


def is_no_padding(ids: Any) -> Any:
    """Returns where ids are neither 0 nor the empty string. Ids may be symbolic."""
    padding = {tf.string: "", tf.bool: False}.get(tf.as_dtype(ids.dtype), 0)
    with on_host():
        return not_equal(ids, padding)


def check_dtype(dtype: str, layer: str) -> None:
    """Raises ValueError for a dtype whose values do not all fit int64."""
    if dtype in DTYPES:
        return
    if dtype == "uint64":
        raise ValueError(
            f"layer '{layer}' takes ids that fit int64, and those of uint64 from 2**63 "
            "on do not. Give them as int64, by `ids.view('int64')` of an array or "
            "`tf.bitcast(ids, tf.int64)`: smaller ones keep their value, larger ones "
            "become negative, and no two become one. Received: ids of dtype uint64"
        )
    raise ValueError(
        f"layer '{layer}' takes integers or strings as ids, since other types lose "
        "ids. Declare the model's input as such: "
        'keras.Input(..., dtype="int64"). '
        f"Received: ids of dtype {dtype}"
    )


def check_rank(rank: int | None, layer: str, combiner: str) -> None:
    """Raises ValueError if the ids have no axis to pool."""
    if rank is not None and rank < 2:
        raise ValueError(
            f"layer '{layer}' with combiner={combiner!r} pools the last "
            "axis of ids, so they must have a rank of at least 2: (batch, ids). "
            f"Received: ids of rank {rank}"
        )


def _as_tensor(inputs: Any, layer: str) -> tf.Tensor:
    try:
        return tf.convert_to_tensor(inputs)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"layer '{layer}' takes ids as one tensor, dense, ragged or sparse: of "
            "several inputs, as in a dict, give it one. "
            f"Received: inputs of type {type(inputs).__name__}: {error}"
        ) from error


def _hashes(strings: tf.Tensor, mask_zero: bool) -> tf.Tensor:
    ids = tf.strings.to_hash_bucket_fast(strings, _MOST_HASHES) + 1
    if not mask_zero:
        return ids
    return tf.where(tf.equal(strings, ""), tf.zeros_like(ids), ids)


def _rows_of(ids: tf.SparseTensor, layer: str, combiner: str | None) -> Any:
    if combiner is None:
        raise ValueError(
            f"layer '{layer}' takes sparse ids with a `combiner` only, since without "
            "one each place would get a vector. Give a combiner, or make the ids "
            "ragged (tf.RaggedTensor.from_sparse) or dense. "
            f"Received: a SparseTensor of shape {ids.shape}"
        )
    if ids.shape.rank is not None and ids.shape.rank != 2:
        raise ValueError(
            f"layer '{layer}' takes sparse ids of rank 2: (batch, ids). "
            f"Received: a SparseTensor of shape {ids.shape}"
        )
    ids = tf.sparse.reorder(ids)  # `from_value_rowids` needs ascending row ids.
    return tf.RaggedTensor.from_value_rowids(
        ids.values, ids.indices[:, 0], nrows=ids.dense_shape[0], validate=False
    )
