"""Processors of a simulated machine, and threads that run on them."""

from __future__ import annotations

import heapq
import itertools
from collections import deque

from persia_tf.simulation.clock import Action, Clock


class Processor:
    """The cores of a machine, shared equally by all jobs that run.

    A job takes its seconds if it has a core for itself. If more jobs run than there are
    cores, each gets an equal part of them. Cores that share caches, memory or
    arithmetic units slow each other down: with all of them busy, each has the speed
    `crowded_speed`, and in between the speed falls in proportion to the busy cores.
    """

    def __init__(self, clock: Clock, cores: int, crowded_speed: float = 1.0) -> None:
        self._clock = clock
        self._cores = cores
        self._crowded_speed = crowded_speed
        # How much each job has been given since the beginning, in seconds of a core.
        # A job ends once this has grown by what it takes, so that a change of the
        # speed moves the ends of all jobs without touching each.
        self._given = 0.0
        self._at = 0.0
        self._ends: list[tuple[float, int, Action]] = []
        self._order = itertools.count()
        self._version = 0
        self._busy_seconds = 0.0

    @property
    def busy_seconds(self) -> float:
        """The sum over cores of the time in which they were busy."""
        self._advance()
        return self._busy_seconds

    def run(self, seconds: float, then: Action) -> None:
        """Runs a job that needs `seconds` of a core, and `then` an action."""
        self._advance()
        end = (self._given + seconds, next(self._order), then)
        heapq.heappush(self._ends, end)
        self._await_first()

    def core_speed(self, busy: int) -> float:
        """Returns the speed of a core while so many cores are busy."""
        if busy <= 1:
            return 1.0
        return 1.0 - (1.0 - self._crowded_speed) * (busy - 1) / (self._cores - 1)

    def _speed(self) -> float:
        jobs = len(self._ends)
        busy = min(jobs, self._cores)
        return self.core_speed(busy) * busy / jobs

    def _advance(self) -> None:
        passed = self._clock.now - self._at
        self._at = self._clock.now
        if self._ends and passed > 0:
            self._given += passed * self._speed()
            self._busy_seconds += passed * min(len(self._ends), self._cores)

    def _await_first(self) -> None:
        self._version += 1
        if not self._ends:
            return
        version = self._version
        left = max(self._ends[0][0] - self._given, 0.0)
        self._clock.after(left / self._speed(), lambda: self._end_first(version))

    def _end_first(self, version: int) -> None:
        if version != self._version:
            return  # Jobs have begun or ended since, so that this time is outdated.
        self._advance()
        end, _, then = heapq.heappop(self._ends)
        # What rounding left of the job.
        self._given = max(self._given, end)
        self._await_first()
        then()


class Thread:
    """A thread, which runs its jobs one after the other.

    A thread without a job sleeps, and takes `wake_seconds` to wake up, in which it
    needs no core.

    Attributes:
        busy_seconds: How long it had a job that ran, or waited for a core, until the
            last job that ended.
    """

    def __init__(self, processor: Processor, clock: Clock, wake_seconds: float) -> None:
        self._processor = processor
        self._clock = clock
        self._wake_seconds = wake_seconds
        self._jobs: deque[tuple[float, Action]] = deque()
        self._is_awake = False
        self._began_at = 0.0
        self.busy_seconds = 0.0

    @property
    def waiting(self) -> int:
        """The number of jobs that have not ended."""
        return len(self._jobs)

    def run(self, seconds: float, then: Action) -> None:
        """Runs a job after those before it, and `then` an action."""
        self._jobs.append((seconds, then))
        if not self._is_awake:
            self._is_awake = True
            self._clock.after(self._wake_seconds, self._run_next)

    def _run_next(self) -> None:
        seconds, _ = self._jobs[0]
        self._began_at = self._clock.now
        self._processor.run(seconds, self._end)

    def _end(self) -> None:
        self.busy_seconds += self._clock.now - self._began_at
        _, then = self._jobs.popleft()
        if self._jobs:
            self._run_next()
        else:
            self._is_awake = False
        then()
