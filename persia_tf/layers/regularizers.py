"""Converts Keras's regularizers to numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from persia_tf._keras import keras

_CLASSES = (keras.regularizers.L1, keras.regularizers.L2, keras.regularizers.L1L2)


class Penalty(NamedTuple):
    """The penalty `l1 * sum(abs(w)) + l2 * sum(w ** 2)`, which is added to the loss.

    Attributes:
        l1: The factor of the sum of magnitudes.
        l2: The factor of the sum of squares.
    """

    l1: float
    l2: float

    @property
    def weight_decay(self) -> float:
        """The weight decay of a row optimizer that corresponds to `l2`.

        It is 2 * l2, since the gradient of `l2 * sum(w ** 2)` is `2 * l2 * w`.
        With SGD, decay and penalty have the same effect; with other optimizers, their
        effects differ.
        """
        return 2 * self.l2


def penalty_of(regularizer: Any) -> Penalty | None:
    """Returns the penalty that a regularizer adds to the loss.

    Args:
        regularizer: Anything that a Keras layer accepts: an object, a name, a config
            or None.

    Returns:
        A `Penalty`, which is zero for None; or None if the regularizer is not Keras's
        L1, L2 or L1L2.
    """
    try:
        known = keras.regularizers.get(regularizer)
    except (TypeError, ValueError):
        return None
    if known is None:
        return Penalty(0.0, 0.0)
    if type(known) not in _CLASSES:
        return None
    return Penalty(*(_short(getattr(known, name, 0.0)) for name in ("l1", "l2")))


def does_nothing(regularizer: Any) -> bool:
    """Whether a regularizer is None or, like `L2(0.0)`, adds zero for all weights."""
    return penalty_of(regularizer) == Penalty(0.0, 0.0)


def config_of_activity(layer: Any) -> dict[str, Any]:
    """Returns the `activity_regularizer` entry of a layer's config; empty without one.

    In tf_keras, a layer must add this entry to its config; in Keras 3, the base class
    adds it.

    Args:
        layer: A Keras layer.
    """
    regularizer = layer.activity_regularizer
    if regularizer is None:
        return {}
    return {"activity_regularizer": keras.regularizers.serialize(regularizer)}


def _short(value: Any) -> float:
    # Round to 7 digits: tf_keras stores 1e-5 as a float32, which prints as
    # 9.999999747378752e-06.
    return float(f"{float(value):.7g}")
