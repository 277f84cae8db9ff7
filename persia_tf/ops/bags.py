"""Bags: how the ids of a lookup are pooled."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Bags:
    """Which ids are pooled into one vector, and how.

    Attributes:
        combiner: `"sum"`, `"mean"` or `"sqrtn"`; `"none"` for one vector per id.
        splits: int32, rank 1: bag b has the ids at positions splits[b] to
            splits[b + 1] - 1.
            None: each innermost row of the ids is a bag.
    """

    combiner: str
    splits: tf.Tensor | None = None

    @property
    def splits_input(self) -> Any:
        """The splits as an input of the ops: an empty array if `splits` is None."""
        return np.zeros(0, np.int32) if self.splits is None else self.splits

    @property
    def pool_last_axis(self) -> bool:
        """Whether each innermost row of the ids becomes one vector."""
        return self.combiner != "none" and self.splits is None

    def like(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns a tensor that has one element, or one innermost row, per vector.

        Its shape determines the shape of the vectors.
        """
        return ids if self.splits is None else self.splits[:-1]

    def static_shape(self, ids: tf.Tensor, dim: int) -> tf.TensorShape:
        """Returns the static shape of the vectors that a lookup of `ids` returns."""
        shape = self.like(ids).shape
        return (shape[:-1] if self.pool_last_axis else shape).concatenate(dim)

    def dynamic_shape(self, ids: tf.Tensor, dim: int) -> tf.Tensor:
        """Returns the dynamic shape of the vectors that a lookup of `ids` returns."""
        shape = tf.shape(self.like(ids))
        return tf.concat([shape[:-1] if self.pool_last_axis else shape, [dim]], axis=0)


NO_BAGS = Bags("none")
