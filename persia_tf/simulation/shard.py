"""A simulated PS shard."""

from __future__ import annotations

from persia_tf.simulation.clock import Action, Clock
from persia_tf.simulation.costs import CallCosts, Costs, Work
from persia_tf.simulation.link import Link
from persia_tf.simulation.network import Machine
from persia_tf.simulation.processor import Thread
from persia_tf.simulation.setup import Setup


class Shard:
    """A shard: a thread per connection, up to its number of I/O threads, and a disk.

    Attributes:
        machine: Where it runs.
        share: Its part of the rows of a call.
        io_threads: Its I/O threads.
        disk: Its disk, whose messages are blocks.
    """

    def __init__(
        self,
        number: int,
        setup: Setup,
        costs: Costs,
        clock: Clock,
        machine: Machine,
    ) -> None:
        self.machine = machine
        self.share = _share(number, setup)
        self._slowness = setup.slowest if number == 0 else 1.0
        self._missing = 1.0 - setup.in_memory
        self._read_seconds = costs.read_seconds
        self._clock = clock
        self.io_threads = [
            Thread(machine.processor, clock, costs.wake_seconds, costs.cold_seconds)
            for _ in range(IO_THREADS)
        ]
        self.disk = Link(clock, costs.reads_per_second)

    def work(self, costs: CallCosts) -> Work:
        """Returns what a request takes of its thread."""
        return costs.shard

    def handle(
        self, client: int, kind: str, seconds: float, rows: float, then: Action
    ) -> None:
        """Handles a request of a client in `seconds` of a core, and `then` acts."""
        del kind
        thread = self.io_threads[client % len(self.io_threads)]
        thread.run(seconds * self._slowness, lambda: self._read(rows, then))

    def _read(self, rows: float, then: Action) -> None:
        blocks = rows * self._missing
        if blocks <= 0:
            then()
            return
        self.disk.carry(blocks, lambda: self._clock.after(self._read_seconds, then))


# The I/O threads of `persia ps` and `persia worker`.
IO_THREADS = 2


def _share(number: int, setup: Setup) -> float:
    """Returns a shard's part of all rows; the first shard is the busiest."""
    busiest = min(setup.busiest / setup.shards, 1.0)
    if number == 0:
        return busiest
    return (1.0 - busiest) / (setup.shards - 1)
