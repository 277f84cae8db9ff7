"""Parses the inputs of a model from serialized tf.Examples."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.serving.export_signature import Inputs

_HINT = (
    "A tf.Example holds inputs with a batch axis of any size: dense ones whose other "
    "axes have known sizes, and ragged or sparse ones with one more axis; of integers, "
    "floats, booleans or strings. Export without `tf_example`, or give the model "
    "another input."
)


class ExampleParser:
    """Parses serialized tf.Examples into the inputs of a model.

    Each input is read from the feature of the same name, and cast to the dtype of the
    model's input. A feature has integers and booleans in an `int64_list`, floats in a
    `float_list`, and strings in a `bytes_list`.

    Args:
        inputs: The model's inputs.

    Raises:
        ValueError: if a tf.Example cannot hold an input.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._features = {
            name: _feature(name, spec) for name, spec in inputs.specs.items()
        }

    def parse(self, examples: tf.Tensor) -> Any:
        """Returns the model's inputs, in the structure that the model is called with.

        Args:
            examples: Serialized tf.Examples: string, `(batch,)`.
        """
        parsed = tf.io.parse_example(examples, self._features)
        return self._inputs.structure_of_inputs(
            {
                name: _as_spec(parsed[name], spec)
                for name, spec in self._inputs.specs.items()
            }
        )


def _feature(name: str, spec: Any) -> Any:
    axes = spec.shape[1:] if spec.shape.rank else None
    dtype = _held_as(spec.dtype)
    if axes is None or spec.shape[0] is not None or dtype is None:
        raise _refusal(name, spec)
    if isinstance(spec, tf.TensorSpec) and axes.is_fully_defined():
        return tf.io.FixedLenFeature(axes, dtype)
    if isinstance(spec, tf.RaggedTensorSpec) and axes.rank == 1:
        return tf.io.RaggedFeature(dtype, row_splits_dtype=spec.row_splits_dtype)
    if isinstance(spec, tf.SparseTensorSpec) and axes.rank == 1:
        return tf.io.VarLenFeature(dtype)
    raise _refusal(name, spec)


def _held_as(dtype: tf.DType) -> tf.DType | None:
    if dtype.is_integer or dtype.is_bool:
        return tf.int64
    if dtype.is_floating:
        return tf.float32
    return tf.string if dtype == tf.string else None


def _as_spec(value: Any, spec: Any) -> Any:
    if isinstance(value, tf.SparseTensor) and spec.shape[1] is not None:
        value = tf.sparse.reset_shape(value, [value.dense_shape[0], spec.shape[1]])
    return value if value.dtype == spec.dtype else tf.cast(value, spec.dtype)


def _refusal(name: str, spec: Any) -> ValueError:
    return ValueError(
        f"input {name!r} cannot be a feature of tf.Examples. {_HINT} Received: {spec}"
    )
