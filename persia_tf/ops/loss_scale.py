"""Determines the scale of a loss from the gradient of a zero that is added to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from persia_tf.optimizers.cell import Cell


class LossScale:
    """The loss scale of a layer's training calls.

    Each lookup also returns a zero, which the layer adds to the model's losses. The
    gradient of the loss with respect to that zero is the factor by which a loss scaler
    multiplied the loss in this step, divided by the number of replicas.

    Args:
        layer_name: The layer's name, for messages.
        add_loss: A function that adds a zero to the model's losses.
    """

    def __init__(self, layer_name: str, add_loss: Callable[[Any], Any]) -> None:
        self._layer_name = layer_name
        self._add_loss = add_loss
        # The number of gradients with an unknown scale since the layer's last call.
        self._unknown: Cell | None = None

    @property
    def is_read(self) -> bool:
        """Whether any call of the layer was watched so far."""
        return self._unknown is not None

    def watch(self, zero: tf.Tensor) -> None:
        """Begins to watch a call of the layer: adds its zero to the losses.

        Args:
            zero: The lookup's zero, whose gradient is later passed to `unscale`.
        """
        if self._unknown is None:
            self._unknown = Cell(0, tf.int64)
        # Reset the count: earlier gradients belong to another step.
        self._unknown.write(tf.zeros((), tf.int64))
        self._add_loss(zero)

    def unscale(
        self, gradients: Sequence[tf.Tensor], of_zero: tf.Tensor | None
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Divides gradients by the loss scale.

        The results remain divided by the number of replicas, so that the gradients of
        all replicas sum to the gradient of the global batch.

        Args:
            gradients: float32: the gradients with respect to the lookups' rows.
            of_zero: The gradient with respect to the lookup's zero. None or 0 if the
                loss does not contain that zero; the loss then counts as unscaled.

        Returns:
            A pair: the divided gradients, and a scalar, which is NaN if the gradients
            overflowed, else 0. The loss scaler does not see the gradients of rows:
            adding the NaN to the anchor's gradient makes the scaler skip the step and
            reduce the scale.
        """
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        scale = tf.zeros(()) if of_zero is None else of_zero * float(replicas)
        is_unknown = tf.equal(scale, 0.0)
        self._unknown.add(tf.cast(is_unknown, tf.int64))
        scale = tf.where(is_unknown, 1.0, scale)
        # Signal overflows of a scaled loss only: without a loss scaler, the step would
        # not be skipped, and the NaN would reach the weights.
        total = tf.add_n([tf.reduce_sum(each) for each in gradients])
        has_overflowed = tf.not_equal(scale, 1.0) & ~tf.math.is_finite(total)
        unscaled = [each / scale for each in gradients]
        return unscaled, tf.where(has_overflowed, float("nan"), 0.0)

    def require_known(self) -> Any:
        """Returns an op that fails if gradients of unknown scale were staged.

        Raises:
            NotImplementedError: if the layer's calls were not watched.
        """
        if self._unknown is None:
            raise NotImplementedError(
                f"layer '{self._layer_name}': a scaled loss in a custom loop needs a "
                "layer that computes in float16, since other layers do not track the "
                "scale. Give the layer dtype='mixed_float16', or do not scale the "
                "loss."
            )
        return tf.raw_ops.Assert(
            condition=tf.equal(self._unknown.read(), 0),
            data=[
                f"layer '{self._layer_name}': its gradients cannot be unscaled, since "
                "the loss did not include the losses of the layers. In a custom loop, "
                "add sum(model.losses) to the loss of each call of the model before "
                "you scale it."
            ],
        )
