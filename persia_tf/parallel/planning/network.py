"""How long exchanges take, by their kind and size."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from typing import NamedTuple

import tensorflow as tf

from persia_tf.parallel.members import Members
from persia_tf.parallel.paced_sums import PacedSums
from persia_tf.parallel.planning.timing import collective_seconds

KINDS = ("gather", "exchange", "sum")

# Exchanges of these sizes are measured, so many in a row, so many times.
_PROBES = {
    4 << 10: (16, 21),
    64 << 10: (16, 15),
    256 << 10: (8, 9),
    1 << 20: (3, 5),
    4 << 20: (2, 2),
}
_LARGEST = max(_PROBES)
# Of the matrices that are multiplied between two exchanges.
_WIDTH = 256
# Between machines of one data centre.
_LATENCY_SECONDS = 1e-4


class Transfer(NamedTuple):
    """One exchange: its kind, and the bytes that this worker puts in."""

    kind: str
    size: int

    def bytes_received(self, members: int) -> float:
        """Returns the bytes that a member receives from the others."""
        if self.kind == "gather":
            return self.size * (members - 1)
        if self.kind == "exchange":
            return self.size * (members - 1) / members
        return 2 * self.size * (members - 1) / members


class Line(NamedTuple):
    """A time that grows with the size: seconds, and seconds per byte put in."""

    fixed: float
    per_byte: float

    def seconds(self, size: float) -> float:
        """Returns the time for so many bytes."""
        return self.fixed + self.per_byte * size

    @classmethod
    def through(cls, small: tuple[int, float], large: tuple[int, float]) -> Line:
        """Returns the line through two points, each of a size and a time."""
        per_byte = max(0.0, (large[1] - small[1]) / (large[0] - small[0]))
        return cls(max(0.0, small[1] - per_byte * small[0]), per_byte)


class Curve(NamedTuple):
    """Times of some sizes, between which it is straight.

    Networks may send the first bytes after a pause faster than later ones.
    """

    sizes: tuple[int, ...]
    times: tuple[float, ...]

    def seconds(self, size: float) -> float:
        """Returns the time for so many bytes put in."""
        above = bisect.bisect_left(self.sizes, size, 1, len(self.sizes) - 1)
        low, high = ((self.sizes[i], self.times[i]) for i in (above - 1, above))
        return Line.through(low, high).seconds(size)

    @property
    def per_byte(self) -> float:
        """The seconds that one more byte takes, when there are many."""
        return Line.through(*list(zip(self.sizes, self.times))[-2:]).per_byte


@dataclasses.dataclass(frozen=True)
class Network:
    """The cost of exchanges among some workers.

    Attributes:
        curves: The cost of each of `KINDS`.
    """

    curves: dict[str, Curve]

    @classmethod
    def of_bandwidth(cls, members: int, bandwidth: float) -> Network:
        """Returns the network of machines whose bandwidth is known.

        Args:
            members: The number of workers.
            bandwidth: Bytes per second that each can receive.
        """
        rounds = {"gather": members - 1, "exchange": 1, "sum": 2 * (members - 1)}

        def curve(kind: str) -> Curve:
            per_byte = Transfer(kind, 1).bytes_received(members) / bandwidth
            line = Line(_LATENCY_SECONDS * rounds[kind], per_byte)
            sizes = (0, 1 << 20)
            return Curve(sizes, tuple(map(line.seconds, sizes)))

        return cls({kind: curve(kind) for kind in KINDS})

    @classmethod
    def measured(cls, members: Members) -> Network:
        """Measures the network between some workers. Collective."""
        if members.size > 1:
            _measured_seconds(members, "sum", _LARGEST)  # Connections start slowly.
        return cls({kind: _measured_curve(members, kind) for kind in KINDS})

    def seconds(self, transfer: Transfer) -> float:
        """Returns how long an exchange takes."""
        return self.curves[transfer.kind].seconds(transfer.size)


def _measured_curve(members: Members, kind: str) -> Curve:
    sizes = tuple(_PROBES)
    if members.size == 1:
        return Curve(sizes, (0.0,) * len(sizes))
    times = [_measured_seconds(members, kind, size) for size in sizes]
    return Curve(sizes, tuple(itertools.accumulate(times, max)))


def _measured_seconds(members: Members, kind: str, size: int) -> float:
    """Returns the time of one exchange among others, without that to call a function.

    A step computes between the exchanges of divided layers. Many networks send the
    first bytes after a pause faster than those that follow.
    """
    in_a_row, calls = _PROBES[size]
    value = tf.zeros([members.size, size // 4 // members.size])
    matrix = tf.eye(_WIDTH)

    def seconds(exchanges: int) -> float:
        def run(value: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
            return _in_a_row(members, kind, exchanges, in_a_row, value, matrix)

        return collective_seconds(
            calls, tf.function(run, autograph=False), value, matrix
        )

    return max(0.0, seconds(in_a_row) - seconds(0)) / in_a_row


def _in_a_row(
    members: Members,
    kind: str,
    exchanges: int,
    products: int,
    value: tf.Tensor,
    product: tf.Tensor,
) -> tf.Tensor:
    """Exchanges a value and multiplies matrices in turn, one after the other."""
    matrix = product
    done: list[tf.Tensor] = []
    for i in range(products):
        with tf.control_dependencies(done + [product]):
            if i < exchanges:
                done = [_exchanged(members, kind, value)]
        with tf.control_dependencies(done):
            product = tf.matmul(product, matrix)
    return product[:1, :1]


def _exchanged(members: Members, kind: str, value: tf.Tensor) -> tf.Tensor:
    if kind == "sum":
        return PacedSums(members).sum(tf.reshape(value, [-1]), "probe/sum")
    return getattr(members, kind)(value, f"probe/{kind}")
