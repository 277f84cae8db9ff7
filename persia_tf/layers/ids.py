"""Converts the layer's input, integers or strings, dense or not, to int64 ids."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import not_equal
from persia_tf.layers.call_stack import KERAS_MODULE, frames_of
from persia_tf.ops.placement import on_host

# Keras may call a model once with float32 placeholders, only to let its layers create
# their weights, and then discards the result. Float inputs are accepted in that call.
# In Keras 3, the functions `_OF_KERAS_3` make it; in tf_keras, the function `build` in
# the module `_OF_TF_KERAS`.
_OF_KERAS_3 = ("_build_by_run_for_single_pos_arg", "_build_by_run_for_kwargs")
_OF_TF_KERAS = "tf_keras.src.engine.training"

# Hashes of strings are from 1 to 2**63 - 2: never negative, and never 0, which is
# reserved for padding.
_MOST_HASHES = 2**63 - 2

_IF_SEVERAL = (
    "If the inputs are several, as in a dict, pass one of them, or give all of them to "
    "a `PersiaEmbeddings`; weights of ids are the second argument: layer(ids, weights)."
)

# The dtypes of ids: those whose values all fit int64, and strings, which are hashed.
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
    if not is_composite and _is_placeholder_of_shape(ids):
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
    """Returns a mask: true where an id is neither 0 nor the empty string.

    The ids may be symbolic.
    """
    padding = {tf.string: "", tf.bool: False}.get(tf.as_dtype(ids.dtype), 0)
    with on_host():
        return not_equal(ids, padding)


def check_dtype(dtype: str, layer: str) -> None:
    """Raises ValueError for a dtype whose values do not all fit int64."""
    if dtype in DTYPES:
        return
    if dtype == "uint64":
        raise ValueError(
            f"layer '{layer}' takes ids that fit int64, which uint64 ids of 2**63 and "
            "above do not. Convert them to int64, by `ids.view('int64')` of an array "
            "or `tf.bitcast(ids, tf.int64)`: smaller ids keep their value, larger ids "
            "become negative, and different ids stay different. "
            "Received: ids of dtype uint64"
        )
    raise ValueError(
        f"layer '{layer}' takes integers or strings as ids, since other types cannot "
        "represent every id. Declare the dtype of the model's input: "
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
    except (TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
        raise ValueError(
            f"layer '{layer}' takes its ids as one dense, ragged or sparse tensor. "
            f"{_IF_SEVERAL} "
            f"Received: inputs of type {type(inputs).__name__}: {error}"
        ) from error


def check_is_one(inputs: Any, layer: str) -> None:
    """Raises ValueError if symbolic inputs are several tensors."""
    if not hasattr(inputs, "dtype"):
        raise ValueError(
            f"layer '{layer}' takes its ids as one tensor. {_IF_SEVERAL} "
            f"Received: inputs of type {type(inputs).__name__}"
        )


def _hashes(strings: tf.Tensor, mask_zero: bool) -> tf.Tensor:
    ids = tf.strings.to_hash_bucket_fast(strings, _MOST_HASHES) + 1
    if not mask_zero:
        return ids
    return tf.where(tf.equal(strings, ""), tf.zeros_like(ids), ids)


def _rows_of(ids: tf.SparseTensor, layer: str, combiner: str | None) -> Any:
    if combiner is None:
        raise ValueError(
            f"layer '{layer}' takes sparse ids only with a `combiner`, since without "
            "one each position, even an empty one, would get a vector. Give a "
            "combiner, or make the ids ragged (tf.RaggedTensor.from_sparse) or dense. "
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


def _is_placeholder_of_shape(inputs: Any) -> bool:
    """Whether an input is a placeholder of Keras, so that its dtype has no meaning.

    Args:
        inputs: A layer's input, as a tensor of TensorFlow.
    """
    # Check for any float dtype, since mixed precision casts the float32 placeholders.
    if tf.is_symbolic_tensor(inputs) and inputs.dtype.is_floating:
        return _is_building_by_shape()
    return False


def _is_building_by_shape() -> bool:
    for frame in frames_of(KERAS_MODULE):
        function, module = frame.f_code.co_name, frame.f_globals["__name__"]
        if module.endswith(".sequential") and "build" in function:
            # `Sequential.build` keeps the model that it creates, with an input of this
            # dtype, so the dtype has a meaning.
            return False
        if function in _OF_KERAS_3:
            return True
        if function == "build" and module == _OF_TF_KERAS:
            return True
    return False
