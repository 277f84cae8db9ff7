"""Where the ops that look rows up run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.ops.gradients import custom_gradient


def on_host() -> Any:
    """A scope whose ops run on the host, wherever the model runs.

    For what takes ids or gives rows, which are in the host's memory. Left to
    TensorFlow, ids would go to a GPU for each op that it has a kernel of, and come
    back for the lookup; and without soft placement a lookup could not run at all.
    """
    return tf.device("CPU:0")


def cast_on_host(values: tf.Tensor, dtype: Any) -> tf.Tensor:
    """Casts floats on the host, and there, too, the gradients that come back."""
    if values.dtype == dtype:
        return values
    return _both_ways_on_host(
        values,
        lambda x: tf.cast(x, dtype),
        lambda upstream: tf.cast(upstream, values.dtype),
    )


def reshape_on_host(values: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Reshapes on the host, and there, too, the gradients that come back."""
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

    with on_host():  # Here, as TensorFlow adds ops of its own around such a function.
        return run(values)
