"""Exchanges different tensors of different members as one tensor of each type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.owned import OwnedBy


class Packing:
    """Exchanges tensors, each of which belongs to the member that owns its place.

    Those of one member and type are joined to a row of numbers for each example. The
    rows of all members have the same length, since collectives need equal shapes: those
    of other members than the one that has the most numbers end with zeros.

    Args:
        specs: The shape of one example, and the type, of each tensor.
        exchange: Exchanges with the other members.
    """

    def __init__(self, specs: Sequence[tf.TensorSpec], exchange: Exchange) -> None:
        self._specs = specs
        self._exchange = exchange
        self._dtypes = sorted({spec.dtype for spec in specs}, key=lambda x: x.name)

    def to_columns(self, tensors: Sequence[tf.Tensor]) -> dict[int, tf.Tensor]:
        """Sends each tensor, by rows, to its owner.

        Args:
            tensors: All tensors, for this member's examples: `(b, ...)`.

        Returns:
            This member's tensors by their places, for the examples of all members.
        """
        received = {}
        given = dict(enumerate(tensors))
        rows = tf.shape(tensors[0])[0]
        for dtype in self._dtypes:
            packed = [
                self._packed(dtype, rank, given, rows)
                for rank in range(self._exchange.size)
            ]
            own = self._exchange.to_columns(tf.stack(packed, axis=1), axis=1)
            received.update(self._unpacked(dtype, self._exchange.rank, own[:, 0]))
        return received

    def packed(self, tensors: Mapping[int, tf.Tensor]) -> list[tf.Tensor]:
        """Packs this member's tensors, by columns, for `to_rows`.

        Args:
            tensors: They by their places, for the examples of all members.

        Returns:
            A tensor `(g * b, n)` of each type.
        """
        rank, rows = self._exchange.rank, self._exchange.examples
        return [self._packed(dtype, rank, tensors, rows) for dtype in self._dtypes]

    def to_rows(self, packed: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Sends each member what was computed for its examples.

        Args:
            packed: What `packed` returns.

        Returns:
            All tensors, for this member's examples.
        """
        received = {}
        for dtype, own in zip(self._dtypes, packed):
            rows = self._exchange.to_rows(own[:, tf.newaxis], axis=1)
            for rank in range(self._exchange.size):
                received.update(self._unpacked(dtype, rank, rows[:, rank]))
        return [received[place] for place in range(len(self._specs))]

    def _places(self, dtype: tf.DType, rank: int) -> list[int]:
        return [
            place
            for place, spec in enumerate(self._specs)
            if spec.dtype == dtype and OwnedBy(place).rank(self._exchange.size) == rank
        ]

    def _widths(self, dtype: tf.DType, rank: int) -> list[int]:
        places = self._places(dtype, rank)
        return [self._specs[place].shape.num_elements() for place in places]

    def _packed(
        self,
        dtype: tf.DType,
        rank: int,
        tensors: Mapping[int, tf.Tensor],
        rows: tf.Tensor | int,
    ) -> tf.Tensor:
        widths = self._widths(dtype, rank)
        flat = [
            tf.reshape(tf.cast(tensors[place], dtype), [-1, width])
            for place, width in zip(self._places(dtype, rank), widths)
        ]
        ranks = range(self._exchange.size)
        longest = max(sum(self._widths(dtype, each)) for each in ranks)
        missing = tf.zeros([rows, longest - sum(widths)], dtype)
        return tf.concat([*flat, missing], axis=1)

    def _unpacked(
        self, dtype: tf.DType, rank: int, packed: tf.Tensor
    ) -> dict[int, tf.Tensor]:
        unpacked, start = {}, 0
        widths = self._widths(dtype, rank)
        for place, width in zip(self._places(dtype, rank), widths):
            numbers = packed[:, start : start + width]
            unpacked[place] = tf.reshape(numbers, [-1, *self._specs[place].shape])
            start += width
        return unpacked
