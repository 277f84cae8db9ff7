"""Members of which only this worker exists, to measure what the others would cost."""

from __future__ import annotations

import tensorflow as tf

from persia_tf.parallel.members import Members
from persia_tf.parallel.planning.network import Transfer


class LoopbackMembers(Members):
    """Takes the part of all members, and notes what would be sent.

    Args:
        size: The number of members.
    """

    def __init__(self, size: int) -> None:
        super().__init__("loopback", size, None)
        self.transfers: list[Transfer] = []

    @property
    def rank(self) -> int:
        """Always the first member."""
        return 0

    def gather(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the value as often as there are members."""
        self._note("gather", value)
        return tf.tile(value, [self.size] + [1] * (value.shape.rank - 1))

    def exchange(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the value."""
        self._note("exchange", value)
        return tf.identity(value)

    def sum(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the value."""
        self._note("sum", value)
        return tf.identity(value)

    def maximum(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the value."""
        return tf.identity(value)

    def _note(self, kind: str, value: tf.Tensor) -> None:
        if value.shape.is_fully_defined():
            size = value.shape.num_elements() * value.dtype.size
            self.transfers.append(Transfer(kind, size))
