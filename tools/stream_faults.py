"""Faults of a stream of bytes: they are lost, changed, or come twice, by a seed."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

CORRUPT = "corrupt"  # The stretch's bytes are others.
TRUNCATE = "truncate"  # The stretch is left out; what follows comes.
DUPLICATE = "duplicate"  # The stretch comes twice.
DROP = "drop"  # From the stretch's begin on nothing comes; the connection stays.
KINDS = (CORRUPT, TRUNCATE, DUPLICATE, DROP)


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens to one connection.

    Attributes:
        kind: One of `KINDS`.
        direction: 0: from the client, 1: to it.
        after: Bytes of that direction that pass before, as they are.
        length: Bytes of the stretch that it happens to.
        mask: 1 to 255: what changed bytes are changed by.
    """

    kind: str
    direction: int
    after: int
    length: int = 1
    mask: int = 255


@dataclasses.dataclass(frozen=True)
class Faults:
    """One fault for every connection, at random and alike for equal seeds.

    Attributes:
        seed: Of the faults.
        mean_bytes: Which pass on average before a connection's fault.
        kinds: Those to draw from.
        most_length: The longest stretch that a fault happens to.
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
    """Has a fault happen to the bytes of one direction. Not thread-safe.

    What comes out does not depend on the pieces that the bytes come in.

    Attributes:
        happened: Whether the fault has touched a byte.
    """

    def __init__(self, fault: Fault) -> None:
        self.happened = False
        self._fault = fault
        self._end = fault.after + fault.length
        self._passed = 0
        self._stretch = b""  # Of a duplicate: what must come again.

    @property
    def most_added(self) -> int:
        """Bytes by which what comes out of one `pass_on` may be longer."""
        return self._fault.length if self._fault.kind == DUPLICATE else 0

    def pass_on(self, data: bytes) -> bytes:
        """Returns what becomes of the stream's next bytes."""
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
