"""Seeded random faults of a byte stream: bytes are lost, changed or duplicated."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

# A fault affects a stretch of bytes.
CORRUPT = "corrupt"  # The bytes of the stretch are changed.
TRUNCATE = "truncate"  # The stretch is left out; later bytes arrive.
DUPLICATE = "duplicate"  # The stretch arrives twice.
DROP = "drop"  # Nothing arrives from the stretch on; the connection stays open.
KINDS = (CORRUPT, TRUNCATE, DUPLICATE, DROP)


@dataclasses.dataclass(frozen=True)
class Fault:
    """The fault of one connection.

    Attributes:
        kind: One of `KINDS`.
        direction: 0: from the client, 1: to the client.
        after: How many bytes pass unchanged in that direction before the fault.
        length: The number of bytes in the affected stretch.
        mask: 1 to 255: the mask that corrupted bytes are XORed with.
    """

    kind: str
    direction: int
    after: int
    length: int = 1
    mask: int = 255


@dataclasses.dataclass(frozen=True)
class Faults:
    """Random faults, one per connection, determined by the seed.

    Attributes:
        seed: The seed of the faults.
        mean_bytes: How many bytes pass on average before a connection's fault.
        kinds: The kinds of faults to draw from.
        most_length: The longest stretch that a fault affects.
    """

    seed: int
    mean_bytes: int
    kinds: Sequence[str] = KINDS
    most_length: int = 64

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - set(KINDS)
        if unknown or not self.kinds:
            raise ValueError(
                f"kinds must be some of {', '.join(KINDS)}. Received: {self.kinds}"
            )

    def of(self, connection: int) -> Fault:
        """Returns the fault of the `connection`-th connection."""
        drawn = random.Random(f"faults/{self.seed}/{connection}")
        return Fault(
            kind=drawn.choice(self.kinds),
            direction=drawn.randrange(2),
            after=int(drawn.expovariate(1 / self.mean_bytes)),
            length=drawn.randint(1, self.most_length),
            mask=drawn.randint(1, 255),
        )


class FaultyStream:
    """Applies a fault to the bytes of one direction. Not thread-safe.

    The result does not depend on how the stream is split into pieces.

    Attributes:
        happened: Whether the fault has touched a byte.
    """

    def __init__(self, fault: Fault) -> None:
        self.happened = False
        self._fault = fault
        self._end = fault.after + fault.length
        self._passed = 0
        self._stretch = b""  # For a duplicate: the bytes to repeat.

    @property
    def most_added(self) -> int:
        """The maximum number of bytes that `pass_on` may add to its input."""
        return self._fault.length if self._fault.kind == DUPLICATE else 0

    def pass_on(self, data: bytes) -> bytes:
        """Returns the stream's next bytes after the fault was applied."""
        fault = self._fault
        begin = _within(fault.after - self._passed, data)
        end = _within(self._end - self._passed, data)
        self._passed += len(data)
        if fault.kind == DROP:
            self.happened |= begin < len(data)
            return data[:begin]
        self.happened |= begin < end
        return data[:begin] + self._changed(data[begin:end]) + data[end:]

    def _changed(self, stretch: bytes) -> bytes:
        kind = self._fault.kind
        if kind == CORRUPT:
            return bytes(byte ^ self._fault.mask for byte in stretch)
        if kind == TRUNCATE:
            return b""
        self._stretch += stretch
        if stretch and self._passed >= self._end:
            return stretch + self._stretch
        return stretch


def _within(position: int, data: bytes) -> int:
    return min(max(position, 0), len(data))
