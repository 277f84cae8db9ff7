"""A `PersiaEmbedding` for models that were written with ids as floats."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.layers import foreign_arguments
from persia_tf.layers.ids import DTYPES
from persia_tf.layers.persia_embedding import PersiaEmbedding


@keras.saving.register_keras_serializable(package="persia_tf")
class CastingPersiaEmbedding(PersiaEmbedding):
    """A `PersiaEmbedding` that takes ids of any number type.

    As `keras.layers.Embedding` does: types that a `PersiaEmbedding` refuses are cast to
    int64, the fraction cut off. A float32 holds every integer up to `2**24` only, so
    larger ids may have become others before they get here; a `PersiaEmbedding` refuses
    floats for that reason. `ptf.convert` makes such a layer where a model computes ids
    as floats, as by slicing an input of several features.

    Args:
        output_dim: As `PersiaEmbedding` takes it.
        **options: As `PersiaEmbedding` takes them.

    Input shape:
        Numbers of any type and rank, or what `PersiaEmbedding` takes.

    Output shape:
        As that of `PersiaEmbedding`.

    Raises:
        TypeError: as `PersiaEmbedding` does.
        ValueError: as `PersiaEmbedding` does, but not for floats.
        PersiaError: as `PersiaEmbedding` does.
    """

    @foreign_arguments.checked
    def __init__(self, output_dim: int, **options: Any) -> None:
        # Under mixed precision floats would be rounded to 16 bits before `call`.
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
