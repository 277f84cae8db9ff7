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
            Without bags it is empty.
    """

    combiner: str
    splits: Any

    def like(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns a tensor of integers, of which each is looked up as one vector."""
        return ids if self.combiner == "none" else self.splits[:-1]


NO_BAGS = Bags("none", np.zeros(0, np.int32))
