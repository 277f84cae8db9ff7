"""What a call of a layer looks up, and what it makes of the vectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.ops.bags import NO_BAGS, Bags


def _unchanged(vectors: tf.Tensor) -> tf.Tensor:
    return vectors


@dataclasses.dataclass(frozen=True)
class PlannedLookup:
    """The lookup of one call of a layer.

    Attributes:
        ids: int64, dense: what to look up.
        bags: How the rows are pooled as they are looked up.
        finish: Turns the looked-up vectors into the layer's output.
        is_plain: Whether `finish` leaves the vectors as they are.
    """

    ids: tf.Tensor
    bags: Bags = NO_BAGS
    finish: Callable[[tf.Tensor], Any] = _unchanged

    @property
    def is_plain(self) -> bool:
        return self.finish is _unchanged

    def then(self, function: Callable[[Any], Any]) -> PlannedLookup:
        """Returns a lookup whose output is `function` of this lookup's output."""
        if self.is_plain:
            return dataclasses.replace(self, finish=function)
        finish = self.finish
        return dataclasses.replace(
            self, finish=lambda vectors: function(finish(vectors))
        )
