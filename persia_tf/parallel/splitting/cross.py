"""Divides the cross layers of DCN-v2, of keras_rs and of TensorFlow Recommenders.

Neither package is imported here: their layers are found by their names. A cross layer
multiplies what dense layers within it compute by its input, for the member's own
examples. Its one dense layer with a kernel of full rank is divided by columns. With a
kernel of low rank, the one that projects down is divided by rows and the one that
projects up by columns, so all of the layer's kernels are divided along its features.
With g members, b examples each, n features and a projection to p, a member receives per
step, in both directions together:

- with full rank: (g - 1) * b * (n + n / g) numbers forward, and as many backward;
- with low rank: 2 * (g - 1) * b * (n / g + p) numbers forward, and as many backward.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.splitting.dense import DivideDense
from persia_tf.parallel.splitting.plain import can_be_within
from persia_tf.parallel.splitting.replaced_call import replaced_call
from persia_tf.parallel.splitting.splittable import Splittable, register_by_name


class _DivideCross(Splittable):
    """Divides the dense layers that are attributes of a cross layer.

    Args:
        full: The attribute of the one with a kernel of full rank.
        down: The attribute of the one that projects down, if there is one.
        up: The attribute of the one that projects up.
    """

    def __init__(self, full: str, down: str, up: str) -> None:
        self._full = full
        self._down = down
        self._up = up

    def axes(self, layer: Any) -> Sequence[str]:
        within = self._within(layer)
        can_divide = all(each.built and can_be_within(each) for each, _ in within)
        return ["columns"] if can_divide else []

    def divided_weights(self, layer: Any, axis: str) -> Sequence[tuple[Any, int]]:
        dense = DivideDense()
        return [
            weight
            for each, its_axis in self._within(layer)
            for weight in dense.divided_weights(each, its_axis)
        ]

    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        dense = DivideDense()
        with contextlib.ExitStack() as replaced:
            for each, its_axis in self._within(layer):
                call = functools.partial(dense.call, each, its_axis, exchange)
                replaced.enter_context(replaced_call(each, call))
            return type(layer).call(layer, *args, **kwargs)

    def _within(self, layer: Any) -> list[tuple[Any, str]]:
        """Returns the dense layers, each with the axis of its division."""
        down = getattr(layer, self._down, None)
        if down is None:
            return [(getattr(layer, self._full), "columns")]
        return [(down, "rows"), (getattr(layer, self._up), "columns")]


register_by_name(
    "keras_rs.FeatureCross",
    _DivideCross(full="dense", down="down_proj_dense", up="dense"),
)
register_by_name(
    "tensorflow_recommenders.Cross",
    _DivideCross(full="_dense", down="_dense_u", up="_dense_v"),
)
