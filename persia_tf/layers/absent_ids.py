"""What a layer returns for ids that have no row."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from persia_tf.admission import Probability
from persia_tf.base import checks, splitmix
from persia_tf.layers.combiners import flat_values
from persia_tf.ops.absent_rows import AbsentRows, are_marked
from persia_tf.ops.initial_rows import InitialRows
from persia_tf.ops.placement import on_host, reshape_on_host

ABSENT = ("zeros", "initial", "oov")

OOV_ID = -0x6F6F_7652_6F77_2D31
"""The id of the row that stands for unknown ids, with `absent="oov"`.

Do not use it as the id of anything else. It is negative, so no string hashes to it; a
random 64-bit integer equals it with a probability of 1 in 2**64.
"""

_LEAST_RATE = 1e-6
_MOST_RATE = 0.5


@dataclasses.dataclass(frozen=True)
class AbsentIds:
    """What a layer returns, outside training, for ids that have no row.

    Args:
        choice: One of `ABSENT`.
        oov_rate: With `"oov"`: the share of ids that training replaces by `OOV_ID`.
        leaves_zero: Whether id 0 is padding.

    Raises:
        TypeError: for a rate that is not a number.
        ValueError: for an unknown choice, or a rate out of its range.
    """

    choice: str
    oov_rate: float
    leaves_zero: bool

    def __post_init__(self) -> None:
        checks.one_of("absent", self.choice, ABSENT)
        checks.within("oov_rate", self.oov_rate, _LEAST_RATE, _MOST_RATE)

    def check_goes_with(self, compression: Any, admission: Any) -> None:
        """Checks, for `"oov"`, that other options allow a row for unknown ids.

        Args:
            compression: The layer's compression, or None.
            admission: The layer's admission, or None.

        Raises:
            ValueError: if other ids would also train that row, or if the row might
                never be created.
        """
        if not self.is_oov:
            return
        if compression is not None:
            raise ValueError(
                '`absent="oov"` cannot be combined with `compression`, since '
                "compressed ids share their rows with other ids: give `absent` "
                '"zeros" or "initial". '
                f"Received: compression={compression!r}"
            )
        if isinstance(admission, Probability):
            raise ValueError(
                '`absent="oov"` cannot be combined with `admission.Probability`, '
                "which may never admit the row that unknown ids share: give another "
                "admission. "
                f"Received: admission={admission!r}"
            )

    @property
    def is_oov(self) -> bool:
        """Whether ids without a row share the row of `OOV_ID`."""
        return self.choice == "oov"

    def rows(self, initial: InitialRows) -> AbsentRows:
        """Returns what lookups return for ids without a row.

        Args:
            initial: The initial rows of the layer's table.
        """
        if self.choice == "initial":
            return AbsentRows("initial", initial)
        return AbsentRows("marked" if self.is_oov else "zeros")

    def replaced_in_training(self, ids: Any) -> Any:
        """Replaces a share of the ids by `OOV_ID`, so that its row is trained.

        Which ids are replaced depends only on the batch's ids and their positions. So
        a training step replaces the same ids as the prefetch of its batch did, while
        other ids are replaced in other batches.

        Args:
            ids: int64, dense or ragged.
        """
        if not self.is_oov:
            return ids
        with on_host():
            replaced = self._replaced(flat_values(ids))
        if isinstance(ids, tf.RaggedTensor):
            return ids.with_flat_values(replaced)
        return replaced

    def _replaced(self, ids: tf.Tensor) -> tf.Tensor:
        places = splitmix.unsigned(tf.range(tf.size(ids, tf.int64)))
        places = tf.reshape(places * splitmix.constant(splitmix.GOLDEN), tf.shape(ids))
        hashes = splitmix.mix(splitmix.unsigned(ids) + places)
        of_batch = splitmix.unsigned(tf.reduce_sum(splitmix.signed(hashes)))
        draws = splitmix.mix(tf.bitwise.bitwise_xor(hashes, of_batch))
        draws = splitmix.signed(tf.bitwise.right_shift(draws, splitmix.constant(1)))
        chosen = draws < int(self.oov_rate * 2**63)
        if self.leaves_zero:
            chosen &= tf.not_equal(ids, 0)
        replaced = tf.where(chosen, tf.constant(OOV_ID, tf.int64), ids)
        replaced.set_shape(ids.shape)
        return replaced

    def asked(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the ids to look up outside training, for `filled`.

        Args:
            ids: int64, any shape.

        Returns:
            int64, `(n + 1,)`: the ids, and `OOV_ID`.
        """
        with on_host():
            flat = tf.reshape(ids, [-1])
            return tf.concat([flat, [tf.constant(OOV_ID, tf.int64)]], axis=0)

    def filled(self, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Replaces rows that are missing by the row of `OOV_ID`.

        Args:
            ids: int64, any shape.
            rows: float32, `(n + 1, dim)`: the rows of `asked(ids)`. NaN marks missing
                rows.

        Returns:
            float32, `ids.shape + (dim,)`. Padding without a row gives zeros. Until
            `OOV_ID` has a row, all ids without a row give zeros.
        """
        with on_host():
            own, oov = rows[:-1], rows[-1:]
            oov = tf.where(are_marked(oov), tf.zeros_like(oov), oov)
            absent = are_marked(own)
            if self.leaves_zero:
                is_padding = tf.equal(tf.reshape(ids, [-1]), 0)[:, tf.newaxis]
                oov = tf.where(is_padding, tf.zeros_like(oov), oov)
            shape = tf.concat([tf.shape(ids), [rows.shape[-1]]], axis=0)
            found = tf.where(absent, oov, own)
        shaped = reshape_on_host(found, shape)
        shaped.set_shape(ids.shape.concatenate(rows.shape[-1]))
        return shaped
