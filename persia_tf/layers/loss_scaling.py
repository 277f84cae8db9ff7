"""Decides which layers need the loss scale, and how their anchors signal overflows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.layers.applying_optimizer import is_trained_with_scaled_loss
from persia_tf.ops.loss_scale import LossScale

# The anchor is empty, so that `summary()` shows no parameters and nothing is
# all-reduced. If a collective library refuses empty tensors, (1,) works as well.
ANCHOR_SHAPE: tuple[int, ...] = (0,)


class LossScaling:
    """A layer's part in loss scaling.

    Args:
        layer: The Keras layer.
    """

    def __init__(self, layer: Any) -> None:
        # The global policy counts too: a float32 layer of a float16 model also receives
        # scaled gradients.
        self._expects_float16 = "float16" in (
            layer.compute_dtype,
            keras.mixed_precision.global_policy().compute_dtype,
        )
        self._scale = LossScale(layer.name, layer.add_loss)

    @property
    def anchor_shape(self) -> tuple[int, ...]:
        """The anchor's shape: one value if its gradient must signal an overflow."""
        return (1,) if self._expects_float16 else ANCHOR_SHAPE

    def of_call(self, training: bool | None) -> LossScale | None:
        """Returns the loss scale if the current call must determine it, else None."""
        if not training:
            return None
        # A layer that once needed the scale keeps determining it: a later custom loop
        # with the layer may scale its loss in a way that cannot be detected here.
        is_needed = (
            self._expects_float16
            or self._scale.is_read
            or is_trained_with_scaled_loss()
        )
        return self._scale if is_needed else None

    def restored(self, anchor: tf.Tensor) -> tf.Tensor:
        """Returns the anchor with NaN replaced by 0.

        A NaN gradient of the anchor signals that gradients overflowed. A loss scaler
        that does not skip such a step writes the NaN into the anchor.
        """
        if not self._expects_float16:
            return anchor
        return tf.where(tf.math.is_finite(anchor), anchor, 0.0)

    def require_known(self) -> Any:
        """Returns an op that fails if gradients of unknown loss scale were staged."""
        return self._scale.require_known()
