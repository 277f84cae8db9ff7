"""What a training program counts at each step, whatever framework it uses."""

from __future__ import annotations

import time
from collections.abc import Iterable

from processes import cpu_seconds

_LOSS_STEPS = 10


class StepWindows:
    """Counts steps in windows of time, after a warm-up.

    Attributes:
        measured: `(steps, seconds)` of each window.
        total_steps: The number of steps, including the warm-up.
        cpu_seconds: The processor time of some processes in all windows.
        own_cpu_seconds: That of this process.
    """

    def __init__(
        self,
        count: int,
        seconds: float,
        warm_up_steps: int,
        pids: Iterable[int] = (),
    ) -> None:
        self.measured: list[tuple[int, float]] = []
        self.total_steps = 0
        self.cpu_seconds = self.own_cpu_seconds = 0.0
        self._pids = list(pids)
        self._cpu_before = self._own_before = 0.0
        self._count = count
        self._seconds = seconds
        self._warm_up_steps = warm_up_steps
        self._steps = 0
        self._begin = 0.0

    def step(self) -> bool:
        """Counts a step that has ended; returns whether training should go on."""
        now = time.monotonic()
        self.total_steps += 1
        if self.total_steps <= self._warm_up_steps:
            self._begin = now
            if self.total_steps == self._warm_up_steps:
                self._cpu_before, self._own_before = self._cpu(), time.process_time()
            return True
        self._steps += 1
        if now - self._begin >= self._seconds:
            self.measured.append((self._steps, now - self._begin))
            self._steps, self._begin = 0, now
        if len(self.measured) < self._count:
            return True
        self.cpu_seconds = self._cpu() - self._cpu_before
        self.own_cpu_seconds = time.process_time() - self._own_before
        return False

    def cpu_us_per_sample(self, batch: int) -> float:
        """Returns the processor time of an example in the windows, in microseconds."""
        steps = sum(steps for steps, _ in self.measured)
        return 1e6 * self.cpu_seconds / (steps * batch)

    def own_cpu_seconds_per_step(self) -> float:
        """Returns the processor time of this process for a step in the windows."""
        return self.own_cpu_seconds / sum(steps for steps, _ in self.measured)

    def _cpu(self) -> float:
        return sum(map(cpu_seconds, self._pids))


class Losses:
    """The losses of the first steps and of the last ones, which show what was learned.

    Attributes:
        steps: The number of steps.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._first_sum = 0.0
        # The sum before each of the last steps, and the sum after the last one.
        self._sums = [0.0]

    def add(self, loss: float) -> None:
        """Adds the loss of a step."""
        self._append(self._sums[-1] + loss)

    def add_mean(self, mean: float) -> None:
        """Adds a step, of which only the mean loss of all steps so far is known."""
        self._append(mean * (self.steps + 1))

    def figures(self) -> dict[str, float]:
        """Returns the mean losses of the first and of the last steps.

        Raises:
            ValueError: if there are too few steps to compare.
        """
        if self.steps < 2 * _LOSS_STEPS:
            raise ValueError(f"{self.steps} steps are too few to show what was learned")
        return {
            "first_loss": self._first_sum / _LOSS_STEPS,
            "last_loss": (self._sums[-1] - self._sums[0]) / _LOSS_STEPS,
        }

    def _append(self, total: float) -> None:
        self.steps += 1
        self._sums = [*self._sums, total][-_LOSS_STEPS - 1 :]
        if self.steps == _LOSS_STEPS:
            self._first_sum = total
