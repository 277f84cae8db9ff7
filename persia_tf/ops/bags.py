"""Bags: how the ids of a lookup are pooled."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Bags:
    """Which ids make a vector, and how.

    Attributes:
        combiner: `"sum"`, `"mean"` or `"sqrtn"`; `"none"` for a vector an id.
        splits: int32, rank 1: bag b is of the ids from splits[b] to splits[b + 1].
            None: each innermost row of the ids is a bag.
    """

    combiner: str
    splits: tf.Tensor | None = None

    @property
    def splits_input(self) -> Any:
        """The splits as the ops take them: empty if there are none."""
        return np.zeros(0, np.int32) if self.splits is None else self.splits

    @property
    def pool_last_axis(self) -> bool:
        """Whether it is the last axis of `like` that becomes the vectors'."""
        return self.combiner != "none" and self.splits is None

    def like(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns integers, of which each, or each innermost row, gets a vector."""
        return ids if self.splits is None else self.splits[:-1]

    def static_shape(self, ids: tf.Tensor, dim: int) -> tf.TensorShape:
        """The shape of the vectors of ids, as far as it is known."""
        shape = self.like(ids).shape
        return (shape[:-1] if self.pool_last_axis else shape).concatenate(dim)

    def dynamic_shape(self, ids: tf.Tensor, dim: int) -> tf.Tensor:
        """The shape of the vectors of ids: int32, rank 1."""
        shape = tf.shape(self.like(ids))
        return tf.concat([shape[:-1] if self.pool_last_axis else shape, [dim]], axis=0)


NO_BAGS = Bags("none")
