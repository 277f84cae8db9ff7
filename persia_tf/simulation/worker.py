"""A simulated embedding worker."""

from __future__ import annotations

from persia_tf.simulation.client import Client
from persia_tf.simulation.clock import Action, Clock
from persia_tf.simulation.costs import CallCosts, Costs, Work
from persia_tf.simulation.network import Machine
from persia_tf.simulation.processor import Thread
from persia_tf.simulation.shard import IO_THREADS


class Worker:
    """An embedding worker: passes the calls of its trainers on to the shards.

    Attributes:
        machine: Where it runs.
        share: Its part of the rows of a call: all, since a trainer has one worker.
    """

    share = 1.0

    def __init__(
        self, costs: Costs, clock: Clock, machine: Machine, client: Client
    ) -> None:
        """Serves on a machine.

        Args:
            costs: What work takes.
            clock: The simulated time.
            machine: Where the worker runs.
            client: What asks the shards for it.
        """
        self.machine = machine
        self._client = client
        self.io_threads = [
            Thread(machine.processor, clock, costs.wake_seconds, costs.cold_seconds)
            for _ in range(IO_THREADS)
        ]

    def work(self, costs: CallCosts) -> Work:
        """Returns what a request takes of its thread."""
        return costs.worker

    def handle(
        self, client: int, kind: str, seconds: float, rows: float, then: Action
    ) -> None:
        """Handles a request of a trainer in `seconds` of a core, and `then` acts."""
        thread = self.io_threads[client % len(self.io_threads)]
        thread.run(seconds, lambda: self._client.call(kind, rows, then))
