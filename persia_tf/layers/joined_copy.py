"""Copies the vectors of several layers to a GPU in one transfer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.ops.gradients import custom_gradient
from persia_tf.ops.placement import on_host


@keras.saving.register_keras_serializable(package="persia_tf")
class JoinedCopy(keras.layers.Layer):
    """Copies tensors to the GPU in one transfer, and their gradients back in one.

    The values are unchanged. Vectors of `PersiaEmbedding` layers are in host memory.
    Without this layer, each of them is copied to the GPU on its own, and so is each
    gradient on the way back. On a CPU the layer has no benefit, and costs two copies
    in memory each way. Do not pass vectors that are already on the GPU: a layer that
    has a `compression`, or that is called with a weight per id, computes its vectors
    there.

    Example:

    ```python
    vectors = [
        ptf.layers.PersiaEmbedding(16, table=name)(ids) for name, ids in inputs.items()
    ]
    vectors = ptf.layers.JoinedCopy()(vectors)
    ```

    Args:
        **options: Options of any Keras layer: `name`, `dtype`.

    Input shape:
        A list, tuple or dict of dense tensors of one float dtype, of any shapes.

    Output shape:
        The same as the input. Keras's masks are passed on.

    Raises:
        ValueError: for inputs that are ragged or sparse, or of several dtypes.
    """

    def __init__(self, **options: Any) -> None:
        # With autocast, mixed precision would cast each vector on the GPU, and so copy
        # each to the GPU on its own.
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
    """Joins vectors into one tensor of rank 1, whose gradient is split on the host."""

    @custom_gradient
    def join(*vectors: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            with on_host():
                parts = tf.split(upstream, sizes, num=len(vectors))
                return [tf.reshape(part, shape) for part, shape in zip(parts, shapes)]

        flat = [tf.reshape(each, [-1]) for each in vectors]
        return tf.concat(flat, axis=0), gradient

    # The scope is outside of `join`, to include the ops that TensorFlow adds around a
    # function with a custom gradient.
    with on_host():
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
            f"layer '{layer}' takes tensors of one dtype, since it joins them into one "
            f"tensor: cast them to one dtype. Received: {', '.join(dtypes)}"
        )
