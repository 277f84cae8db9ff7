"""Loss scaling: which layers take part, and what their anchor does for it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.layers.applying_optimizer import is_trained_with_scaled_loss
from persia_tf.ops.loss_scale import LossScale

# Without values: no parameters in `summary()`, nothing to all-reduce.
# Should a collective library refuse such tensors, (1,) does as well.
ANCHOR_SHAPE: tuple[int, ...] = (0,)


class LossScaling:
    """A layer's part in loss scaling.

    Args:
        layer: The Keras layer.
    """

    def __init__(self, layer: Any) -> None:
        # A float32 layer of a float16 model gets scaled gradients too.
        self._expects_float16 = "float16" in (
            layer.compute_dtype,
            keras.mixed_precision.global_policy().compute_dtype,
        )
        self._scale = LossScale(layer.name, layer.add_loss)

    @property
    def anchor_shape(self) -> tuple[int, ...]:
        """Of the layer's anchor: with a value where its gradient tells of overflow."""
        return (1,) if self._expects_float16 else ANCHOR_SHAPE

    def of_call(self, training: bool | None) -> LossScale | None:
        """The scale, if the call that is running must find it out."""
        if not training:
            return None
        # Once it was needed: later loops of the same layer may scale it unseen.
        is_needed = (
            self._expects_float16
            or self._scale.is_read
            or is_trained_with_scaled_loss()
        )
        return self._scale if is_needed else None

    def restored(self, anchor: tf.Tensor) -> tf.Tensor:
        """An anchor as it was before a scaler that skips no step applied a NaN."""
        if not self._expects_float16:
            return anchor
        return tf.where(tf.math.is_finite(anchor), anchor, 0.0)

    def require_known(self) -> Any:
        """See `LossScale`."""
        return self._scale.require_known()
