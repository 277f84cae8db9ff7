"""Places the ops around lookups on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.ops.gradients import custom_gradient


def on_host() -> Any:
    """Returns a scope whose ops run on the host, even if the model is on a GPU.

    Use it for ops on ids and rows, which are in host memory. TensorFlow's own placement
    would copy ids to the GPU for each op that has a GPU kernel, and back for the
    lookup. The lookup itself has no GPU kernel, so without soft placement it would fail
    within a GPU's scope.
    """
    return tf.device("CPU:0")


def cast_on_host(values: tf.Tensor, dtype: Any) -> tf.Tensor:
    """Casts floats on the host, and casts their gradients there too."""
    if values.dtype == dtype:
        return values
    return _both_ways_on_host(
        values,
        lambda x: tf.cast(x, dtype),
        lambda upstream: tf.cast(upstream, values.dtype),
    )


def reshape_on_host(values: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Reshapes values on the host, and reshapes their gradients there too."""
    with on_host():
        own_shape = tf.shape(values)
    return _both_ways_on_host(
        values,
        lambda x: tf.reshape(x, shape),
        lambda upstream: tf.reshape(upstream, own_shape),
    )


def _both_ways_on_host(
    values: tf.Tensor,
    forwards: Callable[[tf.Tensor], tf.Tensor],
    backwards: Callable[[tf.Tensor], tf.Tensor],
) -> tf.Tensor:
    @custom_gradient
    def run(values: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            with on_host():
                return backwards(tf.convert_to_tensor(upstream))

        return forwards(values), gradient

    # The scope is outside of `run`, to include the ops that TensorFlow adds around a
    # function with a custom gradient.
    with on_host():
        return run(values)
