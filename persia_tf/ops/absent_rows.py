"""What lookups outside training return for ids without a row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import tensorflow as tf

from persia_tf.ops.placement import on_host


@dataclasses.dataclass(frozen=True)
class AbsentRows:
    """What a lookup outside training returns for ids without a row.

    Attributes:
        kind: `"zeros"`; `"initial"`, the value that a new row of the id would have; or
            `"marked"`, NaN, which the caller replaces.
        initial: For `"initial"`, a function of stock TensorFlow ops that maps ids,
            int64 `(n,)`, to their initial rows. Otherwise None.
    """

    kind: Literal["zeros", "initial", "marked"] = "zeros"
    initial: Callable[[tf.Tensor], tf.Tensor] | None = None

    def put_into(
        self, rows: tf.Tensor, ids: tf.Tensor, are_absent: tf.Tensor
    ) -> tf.Tensor:
        """Fills in the rows of absent ids, by stock TensorFlow ops.

        Args:
            rows: float32, `ids.shape + (dim,)`, with zeros for absent ids.
            ids: int64, any shape.
            are_absent: bool, of the shape of `ids`.
        """
        if self.kind == "zeros":
            return rows
        with on_host():
            if self.kind == "marked":
                return tf.where(are_absent[..., tf.newaxis], float("nan"), rows)
            places = tf.where(are_absent)
            absent = self.initial(tf.gather_nd(ids, places))
            return tf.tensor_scatter_nd_update(rows, places, absent)


ZEROS = AbsentRows()


def are_marked(rows: tf.Tensor) -> tf.Tensor:
    """Returns which rows are marked as absent.

    Args:
        rows: float32, `(..., dim)`.

    Returns:
        bool, `(..., 1)`. The result is exact for every wire dtype, as NaN stays NaN.
    """
    return tf.math.is_nan(rows[..., :1])
