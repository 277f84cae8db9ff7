"""By what a loss was multiplied, learned from the gradient of a zero in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.optimizers.cell import Cell


class LossScale:
    """The loss scale of a layer's training calls.

    Each lookup also returns a zero, which the layer adds to the model's losses. The
    gradient of the loss by that zero is what any scaler multiplied the loss by, over
    the number of replicas, as it stands in that very step.

    Args:
        layer_name: For messages.
        add_loss: Takes the zero of a call.
    """

    def __init__(self, layer_name: str, add_loss: Callable[[Any], Any]) -> None:
        self._layer_name = layer_name
        self._add_loss = add_loss
        # How many gradients since the last call did not know their scale.
        self._unknown: Cell | None = None

    @property
    def is_read(self) -> bool:
        """Whether any call of the layer was watched yet."""
        return self._unknown is not None

    def watch(self, zero: tf.Tensor) -> None:
        """Begins a call.

        Args:
            zero: Of the lookup; its gradient goes to `unscale`.
        """
        if self._unknown is None:
            self._unknown = Cell(0, tf.int64)
        # Gradients that were taken before a call are no part of its step.
        self._unknown.write(tf.zeros((), tf.int64))
        self._add_loss(zero)

    def unscale(
        self, gradients: tf.Tensor, of_zero: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Divides the scale out of gradients.

        The replicas' share stays: their gradients sum to that of the global batch.

        Args:
            gradients: float32, by the lookup's rows.
            of_zero: The gradient by its zero: None or 0 where that is not in the
                loss, which is then taken for unscaled.

        Returns:
            The gradients, and 0 or, if a scaler should skip the step for them,
            NaN: a scaler halves the scale on overflow, but sees no row.
        """
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        scale = tf.zeros(()) if of_zero is None else of_zero * float(replicas)
        is_unknown = tf.equal(scale, 0.0)
        self._unknown.add(tf.cast(is_unknown, tf.int64))
        scale = tf.where(is_unknown, 1.0, scale)
        # Without a scaler nothing skips the step, and a NaN would do harm.
        has_overflowed = tf.not_equal(scale, 1.0) & ~tf.math.is_finite(
            tf.reduce_sum(gradients)
        )
        return gradients / scale, tf.where(has_overflowed, float("nan"), 0.0)

    def require_known(self) -> Any:
        """Returns an op that fails if gradients were staged as they were scaled.

        Raises:
            NotImplementedError: if the layer's calls were not watched.
        """
        if self._unknown is None:
            raise NotImplementedError(
                f"layer '{self._layer_name}': a scaled loss in a custom loop needs "
                "float16 computation, else the layer does not look for the scale. "
                "Give the layer dtype='mixed_float16', or do not scale the loss."
            )
        return tf.raw_ops.Assert(
            condition=tf.equal(self._unknown.read(), 0),
            data=[
                f"layer '{self._layer_name}': its gradients cannot be unscaled, since "
                "the loss did not contain the layer's own. In a custom loop, add "
                "sum(model.losses) to the loss of each call of the model before you "
                "scale it."
            ],
        )
