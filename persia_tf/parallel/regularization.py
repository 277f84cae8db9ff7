"""Regularization losses of weights that are divided."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.parallel.divided_variable import stored


class RegularizationLoss:
    """Adds to the loss what Keras misses of a divided weight's regularization.

    Keras adds the regularization of this member's part to this worker's loss, and the
    loss of a step is the mean over all workers. The mean over a group of the losses of
    the parts is that of the whole weight divided by the number of members. So each
    member must add its part's loss as often as there are members. The gradient of a
    part is not summed within the group, so it needs the same factor.

    Args:
        name: The layer's name in the plan.
        layer: The layer.
        weights: Its divided weights.
        members: The number of members in a group.

    Raises:
        ValueError: if a regularizer's loss is not the sum of those of the parts.
    """

    def __init__(
        self, name: str, layer: Any, weights: Sequence[Any], members: int
    ) -> None:
        self._layer = layer
        self._factor = members - 1
        self._terms = [
            (weight, regularizer)
            for weight in weights
            if (regularizer := _regularizer_of(layer, weight)) is not None
        ]
        for _, regularizer in self._terms:
            _check(name, regularizer)
        self._last_graph: Callable[[], Any] = lambda: None

    def add(self) -> None:
        """Adds the loss, once for each graph. Call it within the layer's `call`."""
        graph = tf.compat.v1.get_default_graph()
        if not self._terms or (
            not tf.executing_eagerly() and graph is self._last_graph()
        ):
            return
        self._last_graph = weakref.ref(graph)
        for weight, regularizer in self._terms:
            # Not in the type in which the layer computes, but as Keras does.
            value = tf.convert_to_tensor(stored(weight))
            self._layer.add_loss(self._factor * regularizer(value))


def _regularizer_of(layer: Any, weight: Any) -> Any:
    """Returns the regularizer of a weight, or None."""
    if hasattr(weight, "regularizer"):
        return weight.regularizer
    name = weight.name.split("/")[-1].split(":")[0]
    return getattr(layer, f"{name}_regularizer", None)


def _check(name: str, regularizer: Any) -> None:
    allowed = tuple(
        getattr(keras.regularizers, each)
        for each in ("L1", "L2", "L1L2")
        if hasattr(keras.regularizers, each)
    )
    if not isinstance(regularizer, allowed):
        raise ValueError(
            "a divided weight can have no regularizer other than keras.regularizers.L1,"
            " L2 and L1L2: place the layer as `data`. Received: the layer "
            f"{name} with {regularizer!r}"
        )
