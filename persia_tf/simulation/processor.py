"""Processors of a simulated machine, and threads that run on them."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections import deque

import numpy as np

from persia_tf.simulation.clock import Action, Clock

# By how much work takes longer until its data are in caches.
COLD_PART = 0.25


@dataclasses.dataclass(eq=False)
class Job:
    """A job that runs, or has run, on a core.

    Attributes:
        end: How much its core must have given to each of its jobs when it ends.
        then: What acts then.
        core: The number of its core.
    """

    end: float
    then: Action
    core: int


class Core:
    """A core, shared equally by its jobs.

    What it has given to each job grows while they run, so that a job that comes or goes
    moves the ends of all others without touching each.

    Attributes:
        version: Grows with each change.
        last: The job that began on it last.
    """

    def __init__(self) -> None:
        self.version = 0
        self.last: Job | None = None
        self._jobs: list[tuple[float, int, Job]] = []
        self._order = itertools.count()
        self._given = 0.0
        self._at = 0.0

    def __len__(self) -> int:
        return len(self._jobs)

    def advance(self, now: float) -> None:
        """Goes on to a time, which is measured in seconds at full speed."""
        if self._jobs:
            self._given += (now - self._at) / len(self._jobs)
        self._at = now

    @property
    def first_end(self) -> float:
        """The time at which its first job ends, if nothing changes before."""
        left = max(self._jobs[0][0] - self._given, 0.0)
        return self._at + left * len(self._jobs)

    def left(self, job: Job) -> float:
        """Returns the seconds that a job still needs."""
        return max(job.end - self._given, 0.0)

    def add(self, seconds: float, job: Job) -> None:
        """Runs a job that needs some seconds."""
        self.last = job
        job.end = self._given + seconds
        heapq.heappush(self._jobs, (job.end, next(self._order), job))
        self.version += 1

    def pop_first(self) -> Job:
        """Ends the job that ends first."""
        end, _, job = heapq.heappop(self._jobs)
        self._given = max(self._given, end)  # What rounding left of the job.
        self.version += 1
        return job

    def take_last(self) -> Job:
        """Removes the job that would end last."""
        last = max(self._jobs)
        self._jobs.remove(last)
        heapq.heapify(self._jobs)
        self.version += 1
        return last[2]


class Processor:
    """The cores of a machine.

    A job takes its seconds if it has a core for itself. It begins on an idle core if
    there is one. Otherwise it shares the core of the thread that has woken its own, if
    no third thread does: Linux expects that thread to sleep soon. If another one does,
    it shares the core on which its thread ran last. A core that becomes idle takes a
    job from a core with several of them, but not always: an operating system leaves
    threads where their data are, for a while.

    Cores that share caches, memory or arithmetic units slow each other down: with all
    of them busy, each has the speed `crowded_speed`, and in between the speed falls in
    proportion to the busy cores.

    Args:
        clock: The simulated time.
        cores: How many there are.
        crowded_speed: Their speed while all are busy.
        balance: The part of the time in which idle cores take jobs.
        balance_seconds: The period in which they do so for that part. Defaults to 0:
            each time is drawn.
        random: Draws where in a period the processor begins. Defaults to None: seeded
            by 0.
    """

    def __init__(
        self,
        clock: Clock,
        cores: int,
        crowded_speed: float = 1.0,
        balance: float = 1.0,
        balance_seconds: float = 0.0,
        random: np.random.Generator | None = None,
    ) -> None:
        self._clock = clock
        self._crowded_speed = crowded_speed
        self._balance = balance
        self._balance_seconds = balance_seconds
        self._random = random or np.random.default_rng(0)
        self._begun = self._random.random()
        self._cores = [Core() for _ in range(cores)]
        self._idle = dict.fromkeys(range(cores))  # In the order of becoming idle.
        self._ends: list[tuple[float, int, int]] = []
        self._jobs = 0
        # The seconds that a core would have run at full speed, and when that was.
        self._now = self._at = 0.0
        self._version = 0
        self._busy_seconds = 0.0
        self._ending: int | None = None

    @property
    def busy_seconds(self) -> float:
        """The sum over cores of the time in which they were busy."""
        self._advance()
        return self._busy_seconds

    @property
    def ending(self) -> int | None:
        """The core of the job that has just ended, while its action acts."""
        return self._ending

    def run(
        self,
        seconds: float,
        then: Action,
        home: int | None = None,
        waker: int | None = None,
    ) -> Job:
        """Runs a job that needs `seconds` of a core, and `then` an action.

        Args:
            seconds: What it needs.
            then: What acts at its end.
            home: The core that it shares if none is idle. Defaults to None: the one
                with the fewest jobs.
            waker: The core of the thread that has woken this job's. Defaults to None:
                none of this machine.
        """
        self._advance()
        job = Job(0.0, then, self._place(home, waker))
        self._jobs += 1
        self._add(seconds, job)
        self._await_first()
        return job

    def ran_last(self, job: Job) -> bool:
        """Returns whether a job was the last one that began on its core."""
        return self._cores[job.core].last is job

    def core_speed(self, busy: int) -> float:
        """Returns the speed of a core while so many cores are busy."""
        if busy <= 1:
            return 1.0
        return 1.0 - (1.0 - self._crowded_speed) * (busy - 1) / (len(self._cores) - 1)

    @property
    def _busy(self) -> int:
        return len(self._cores) - len(self._idle)

    def _place(self, home: int | None, waker: int | None) -> int:
        if self._idle:
            return home if home in self._idle else next(iter(self._idle))
        if waker is not None and len(self._cores[waker]) == 1:
            return waker
        if home is not None:
            return home
        return min(range(len(self._cores)), key=lambda core: len(self._cores[core]))

    def _add(self, seconds: float, job: Job) -> None:
        self._idle.pop(job.core, None)
        core = self._cores[job.core]
        core.advance(self._now)
        core.add(seconds, job)
        self._note_end(job.core)

    def _note_end(self, number: int) -> None:
        core = self._cores[number]
        if len(core):
            heapq.heappush(self._ends, (core.first_end, core.version, number))
        else:
            self._idle[number] = None

    def _advance(self) -> None:
        passed = self._clock.now - self._at
        self._at = self._clock.now
        self._now += passed * self.core_speed(self._busy)
        self._busy_seconds += passed * self._busy

    def _await_first(self) -> None:
        self._version += 1
        while self._ends and self._is_outdated(*self._ends[0]):
            heapq.heappop(self._ends)
        if not self._ends:
            return
        version, left = self._version, max(self._ends[0][0] - self._now, 0.0)
        speed = self.core_speed(self._busy)
        self._clock.after(left / speed, lambda: self._end_first(version))

    def _is_outdated(self, end: float, version: int, number: int) -> bool:
        del end
        return self._cores[number].version != version

    def _end_first(self, version: int) -> None:
        if version != self._version:
            return  # Jobs have begun or ended since, so that this time is outdated.
        self._advance()
        end, _, number = heapq.heappop(self._ends)
        self._now = max(self._now, end)
        core = self._cores[number]
        core.advance(self._now)
        job = core.pop_first()
        self._jobs -= 1
        self._note_end(number)
        if not len(core):
            self._take_job(number)
        self._await_first()
        self._ending = number
        job.then()
        self._ending = None

    def _is_balanced(self) -> bool:
        """Returns whether idle cores take jobs now.

        They take turns to do so and not, and are not drawn: the mean of few periods is
        then what it is of many.
        """
        if self._balance_seconds == 0:
            return bool(self._random.random() < self._balance)
        periods = self._begun + self._clock.now / self._balance_seconds
        return periods % 1.0 < self._balance

    def _take_job(self, idle: int) -> None:
        """Lets a core that has become idle take a job, if one waits and it may."""
        if self._jobs <= self._busy or not self._is_balanced():
            return
        busiest = max(self._cores, key=len)
        busiest.advance(self._now)
        job = busiest.take_last()
        self._note_end(job.core)
        seconds, job.core = busiest.left(job), idle
        self._add(seconds, job)


class Thread:
    """A thread, which runs its jobs one after the other.

    A thread without a job sleeps, and takes `wake_seconds` to wake up, in which it
    needs no core. Its next job is slower if its core has done other work since: until
    it has its data in the core's caches again, everything takes longer by a part
    `COLD_PART`, for `cold_seconds` at most.

    Attributes:
        busy_seconds: How long it had a job that ran, or waited for a core, until the
            last job that ended.
    """

    def __init__(
        self,
        processor: Processor,
        clock: Clock,
        wake_seconds: float,
        cold_seconds: float = 0.0,
    ) -> None:
        self._processor = processor
        self._clock = clock
        self._wake_seconds = wake_seconds
        self._cold_seconds = cold_seconds
        self._jobs: deque[tuple[float, Action]] = deque()
        self._is_awake = False
        self._job: Job | None = None
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
            waker = self._processor.ending
            self._clock.after(self._wake_seconds, lambda: self._wake(waker))

    def _wake(self, waker: int | None) -> None:
        slower = 0.0
        if self._job is not None and not self._processor.ran_last(self._job):
            slower = min(self._cold_seconds, COLD_PART * self._jobs[0][0])
        self._run_next(slower, waker)

    def _run_next(self, slower: float = 0.0, waker: int | None = None) -> None:
        seconds = self._jobs[0][0] + slower
        self._began_at = self._clock.now
        home = None if self._job is None else self._job.core
        self._job = self._processor.run(seconds, self._end, home, waker)

    def _end(self) -> None:
        self.busy_seconds += self._clock.now - self._began_at
        _, then = self._jobs.popleft()
        if self._jobs:
            self._run_next()
        else:
            self._is_awake = False
        then()
