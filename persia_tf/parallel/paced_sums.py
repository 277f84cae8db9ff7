"""Sums long vectors in pieces, a few of which are on their way at a time."""

from __future__ import annotations

import tensorflow as tf

from persia_tf.parallel.members import Members

# What one worker sends another in one message. gRPC takes 20 % longer for messages of
# 2 MiB, since it allocates memory for each.
_MESSAGE_BYTES = 512 << 10
# One piece is sent while the next one is prepared. More would delay the exchanges of
# divided layers, for which the computation waits: all share one connection.
_ON_THEIR_WAY = 2


class PacedSums:
    """The sums of one step among some workers.

    A sum waits until the second last one before it has ended, in the order of the
    calls, which must be the same on all workers.

    Args:
        members: The workers.

    Attributes:
        members: The workers.
    """

    def __init__(self, members: Members) -> None:
        self.members = members
        self._length = _MESSAGE_BYTES * members.size
        self._sums: list[tf.Tensor] = []

    def sum(self, x: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the sum of the members' vectors.

        Args:
            x: `(count,)`, with the count known.
            name: The name of the exchange.
        """
        length = max(1, self._length // x.dtype.size)
        count = x.shape[0]
        sizes = [min(length, count - start) for start in range(0, count, length)]
        pieces = tf.split(x, sizes) if len(sizes) > 1 else [x]
        sums = [self._one_sum(each, f"{name}/{i}") for i, each in enumerate(pieces)]
        return tf.concat(sums, axis=0) if len(sums) > 1 else sums[0]

    def _one_sum(self, piece: tf.Tensor, name: str) -> tf.Tensor:
        is_full = len(self._sums) >= _ON_THEIR_WAY
        before = [self._sums[-_ON_THEIR_WAY]] if is_full else []
        with tf.control_dependencies(before):
            total = self.members.sum(piece, name)
        self._sums.append(total)
        return total
