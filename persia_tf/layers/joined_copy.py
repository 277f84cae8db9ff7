"""Brings the vectors of several layers to a GPU at once."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.ops.gradients import custom_gradient
from persia_tf.ops.placement import on_host


@keras.saving.register_keras_serializable(package="persia_tf")
class JoinedCopy(keras.layers.Layer):
    """Passes tensors on, which reach a model on a GPU in one copy, and so return.

    Vectors of `PersiaEmbedding` layers are on the host. Without this layer, each is
    copied to the GPU by itself, and so is its gradient on the way back. On a CPU
    it brings nothing, and costs two copies in memory each way. Vectors that are
    computed from rows (of layers with a compression, or with weights) are on the
    GPU already: leave them out.

    Example:

    ```python
    vectors = [
        ptf.layers.PersiaEmbedding(16, table=name)(ids) for name, ids in inputs.items()
    ]
    vectors = ptf.layers.JoinedCopy()(vectors)
    ```

    Args:
        **options: Of any Keras layer: `name`, `dtype`.

    Input shape:
        A list, tuple or dict of dense tensors of one float type, of any shapes.

    Output shape:
        The same. Keras's masks go along.

    Raises:
        ValueError: for inputs that are ragged or sparse, or of several types.
    """

    def __init__(self, **options: Any) -> None:
        # Else mixed precision would cast vectors on the GPU.
        super().__init__(autocast=False, **options)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        vectors = tf.nest.flatten(inputs)
        _check(vectors, self.name)
        with on_host():
            shapes = [tf.shape(each) for each in vectors]
            sizes = tf.stack([tf.size(each) for each in vectors])
        parts = tf.split(_joined(vectors, shapes, sizes), sizes, num=len(vectors))
        shaped = [tf.reshape(part, shape) for part, shape in zip(parts, shapes)]
        for tensor, like in zip(shaped, vectors):
            tensor.set_shape(like.shape)
        return tf.nest.pack_sequence_as(inputs, shaped)

    def compute_output_spec(self, inputs: Any) -> Any:
        return keras.tree.map_structure(
            lambda x: keras.KerasTensor(x.shape, x.dtype), inputs
        )


def _joined(
    vectors: list[tf.Tensor], shapes: list[tf.Tensor], sizes: tf.Tensor
) -> tf.Tensor:
    """All values in one tensor of rank 1; taken apart on the host on the way back."""

    @custom_gradient
    def join(*vectors: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            with on_host():
                parts = tf.split(upstream, sizes, num=len(vectors))
                return [tf.reshape(part, shape) for part, shape in zip(parts, shapes)]

        flat = [tf.reshape(each, [-1]) for each in vectors]
        return tf.concat(flat, axis=0), gradient

    with on_host():  # Here, as TensorFlow adds ops of its own around such a function.
        return join(*vectors)


def _check(vectors: list[Any], layer: str) -> None:
    others = sorted({type(x).__name__ for x in vectors if not isinstance(x, tf.Tensor)})
    if others:
        raise ValueError(
            f"layer '{layer}' takes dense tensors. Received: {', '.join(others)}"
        )
    dtypes = sorted({each.dtype.name for each in vectors})
    if len(dtypes) != 1:
        raise ValueError(
            f"layer '{layer}' takes tensors of one type, as they are one tensor while "
            f"they are copied. Received: {', '.join(dtypes)}"
        )
