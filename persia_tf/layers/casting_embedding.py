"""A `PersiaEmbedding` for models that compute ids as floats."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.layers import foreign_arguments
from persia_tf.layers.ids import DTYPES
from persia_tf.layers.persia_embedding import PersiaEmbedding


@keras.saving.register_keras_serializable(package="persia_tf")
class CastingPersiaEmbedding(PersiaEmbedding):
    """A `PersiaEmbedding` that accepts ids of any numeric dtype.

    Like `keras.layers.Embedding`, this layer casts all numbers to int64, which
    truncates fractions. A float32 represents all integers only up to
    `2**24`, so larger ids may have been rounded to other ids before they reach the
    layer; that is why a `PersiaEmbedding` refuses floats. `ptf.convert` uses this layer
    where a model computes ids as floats, such as by slicing an input of features.

    Args:
        output_dim: As for `PersiaEmbedding`.
        **options: As for `PersiaEmbedding`.

    Input shape:
        Numbers of any dtype and rank, or anything that `PersiaEmbedding` accepts.

    Output shape:
        As for `PersiaEmbedding`.

    Raises:
        TypeError: as `PersiaEmbedding` does.
        ValueError: as `PersiaEmbedding` does, except for floats.
        PersiaError: as `PersiaEmbedding` does.
    """

    @foreign_arguments.checked
    def __init__(self, output_dim: int, **options: Any) -> None:
        # With autocast, mixed precision would round ids to 16-bit floats before `call`.
        super().__init__(output_dim, autocast=False, **options)

    def call(
        self, inputs: Any, weights: Any = None, training: bool | None = None
    ) -> Any:
        return super().call(_as_ids(inputs), weights, training)

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not _are_ids(inputs.dtype):
            inputs = keras.KerasTensor(inputs.shape, "int64", name=inputs.name)
        return super().compute_output_spec(inputs, *args, **kwargs)


def _as_ids(inputs: Any) -> Any:
    if not hasattr(inputs, "dtype"):
        inputs = tf.convert_to_tensor(inputs)
    return inputs if _are_ids(inputs.dtype) else tf.cast(inputs, tf.int64)


def _are_ids(dtype: Any) -> bool:
    return tf.as_dtype(dtype).name in DTYPES
