"""A simulated training program, and its synchronous part."""

from __future__ import annotations

import math

from persia_tf.simulation.client import Client
from persia_tf.simulation.clock import Action, Clock, after_all
from persia_tf.simulation.costs import Costs
from persia_tf.simulation.messages import LOOKUP, UPDATE
from persia_tf.simulation.network import Machine
from persia_tf.simulation.processor import Thread
from persia_tf.simulation.setup import Setup

# Into how many pieces the parallel work of each core is split.
_PIECES = 16


class AllReduce:
    """Sums the dense gradients of all trainers in a ring.

    Each of 2 (n - 1) rounds carries an n-th of the bytes from each trainer to the next.
    """

    def __init__(self, setup: Setup, clock: Clock) -> None:
        self._clock = clock
        self._trainers = setup.trainers
        rounds = 2 * (setup.trainers - 1)
        carried = 0.0
        if not setup.same_machine:
            part = setup.dense_bytes / setup.trainers
            carried = part / setup.network_bytes_per_second
        self.seconds = rounds * (carried + setup.delay_seconds)
        self._waiting: list[Action] = []

    def join(self, then: Action) -> None:
        """Waits for all trainers, and `then` acts once the gradients are summed."""
        self._waiting.append(then)
        if len(self._waiting) == self._trainers:
            waiting, self._waiting = self._waiting, []
            for action in waiting:
                self._clock.after(self.seconds, action)


class Trainer:
    """A training program, with at most `staleness` + 1 unfinished steps.

    A step is unfinished from its lookup until its update is acknowledged.

    Attributes:
        ends: When each step ended, in seconds.
        lookups: How long each lookup took, in seconds.
        updates: How long each update took, in seconds.
    """

    def __init__(
        self,
        setup: Setup,
        costs: Costs,
        clock: Clock,
        machine: Machine,
        client: Client,
        all_reduce: AllReduce,
    ) -> None:
        self._setup = setup
        self._clock = clock
        self._machine = machine
        self._client = client
        self._all_reduce = all_reduce
        size = setup.ids * setup.row_bytes
        own = costs.trainer.seconds(1, 0, setup.layers, setup.ids, size)
        # Half of it is before the lookup, and half belongs to the step.
        self._prepare_seconds = self._step_seconds = own / 2
        self._prepares = Thread(machine.processor, clock, costs.wake_seconds)
        self._ready = 0
        self._is_busy = False
        self.ends: list[float] = []
        self.lookups: list[float] = []
        self.updates: list[float] = []

    def start(self) -> None:
        """Begins to train, without end."""
        for _ in range(self._setup.staleness + 1):
            self._begin()

    def _begin(self) -> None:
        self._prepares.run(self._prepare_seconds, self._look_up)

    def _look_up(self) -> None:
        begin = self._clock.now

        def looked_up() -> None:
            self.lookups.append(self._clock.now - begin)
            self._ready += 1
            self._step()

        self._client.call(LOOKUP, self._setup.rows, looked_up)

    def _step(self) -> None:
        if self._is_busy or not self._ready:
            return
        self._is_busy = True
        self._ready -= 1
        self._machine.processor.run(self._step_seconds, self._compute)

    def _compute(self) -> None:
        """Computes the dense part: a serial job, and then pieces for all cores.

        Each core takes the next piece when it is done with one, as TensorFlow's threads
        do: so a core that others need for a while has fewer of them.
        """
        setup = self._setup
        if setup.dense_cores == 0:
            self._clock.after(setup.dense_seconds, self._computed)
            return
        cores = max(1, min(setup.cores, math.ceil(setup.dense_cores)))
        parallel = _parallel_part(setup.dense_cores, cores)
        # It took its time while so many cores were busy.
        speed = self._machine.processor.core_speed(cores)
        piece = setup.dense_seconds * parallel * speed / _PIECES
        left = _PIECES * cores
        joined = after_all(cores, self._computed)

        def next_piece() -> None:
            nonlocal left
            if left == 0:
                joined()
                return
            left -= 1
            run(piece, next_piece)

        def fork() -> None:
            for _ in range(cores):
                next_piece()

        run = self._machine.processor.run
        run(setup.dense_seconds * (1 - parallel), fork)

    def _computed(self) -> None:
        self._all_reduce.join(self._end_step)

    def _end_step(self) -> None:
        self._is_busy = False
        self.ends.append(self._clock.now)
        begin = self._clock.now

        def updated() -> None:
            self.updates.append(self._clock.now - begin)
            self._begin()

        self._client.call(UPDATE, self._setup.rows, updated)
        self._step()


def _parallel_part(mean_cores: float, cores: int) -> float:
    """Returns in which part of its time a job must use all cores, and one otherwise.

    Args:
        mean_cores: How many cores it uses on the mean.
        cores: How many it uses in that part.
    """
    if cores == 1:
        return 0.0
    return min(max((mean_cores - 1) / (cores - 1), 0.0), 1.0)
