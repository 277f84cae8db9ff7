"""What a lookup outside training gives for ids without a row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import tensorflow as tf

from persia_tf.ops.placement import on_host


@dataclasses.dataclass(frozen=True)
class AbsentRows:
    """What a lookup outside training gives for ids without a row.

    Attributes:
        kind: `"zeros"`, the table's default; `"initial"`, what a new row of the id
            would hold; `"marked"`, NaN, for who knows what to put there.
        initial: Of `"initial"`: those rows for ids, int64 `(n,)`, by stock ops.
    """

    kind: Literal["zeros", "initial", "marked"] = "zeros"
    initial: Callable[[tf.Tensor], tf.Tensor] | None = None

    def put_into(
        self, rows: tf.Tensor, ids: tf.Tensor, are_absent: tf.Tensor
    ) -> tf.Tensor:
        """Puts what absent ids get into rows, which are zeros there, by stock ops.

        Args:
            rows: float32, `ids.shape + (dim,)`.
            ids: int64.
            are_absent: bool, of that shape.
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
    """Says which rows are marked as absent.

    Args:
        rows: float32, `(..., dim)`.

    Returns:
        bool, `(..., 1)`. Exact, however rows travelled: NaN stays NaN.
    """
    return tf.math.is_nan(rows[..., :1])
