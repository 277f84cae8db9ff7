"""Times the steps of `fit`."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

from persia_tf._keras import keras

_WARM_UP_STEPS = 5
_LEAST_STEPS = 20
_LEAST_SECONDS = 2.0
_MOST_SECONDS = 20.0
_PARTS = 5


@dataclasses.dataclass(frozen=True)
class TimedSteps:
    """The time of a step.

    Attributes:
        seconds: How long it takes.
        cores: How many cores this process keeps busy in it, on the mean.
    """

    seconds: float
    cores: float


class StepClock(keras.callbacks.Callback):
    """Times steps after a warm-up, and then ends training.

    It times at least 20 steps and 2 seconds of them, unless these take too long: 20
    seconds after the first step, it ends in any case.

    Args:
        seconds: Returns the time.
        cpu_seconds: Returns the processor time of this process.
    """

    def __init__(
        self,
        seconds: Callable[[], float] = time.monotonic,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        super().__init__()
        self._seconds = seconds
        self._cpu_seconds = cpu_seconds
        # How many steps had ended at which time, and the processor time until then.
        self._ends: list[tuple[int, float, float]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._ends.append((batch + 1, self._seconds(), self._cpu_seconds()))
        passed = self._ends[-1][1] - self._ends[0][1]
        steps, timed, _ = self._since_warm_up()
        is_enough = steps >= _LEAST_STEPS and timed >= _LEAST_SECONDS
        if is_enough or passed >= _MOST_SECONDS:
            self.model.stop_training = True

    def timed(self) -> TimedSteps | None:
        """Returns the time of a step; None if fewer than two steps have ended.

        It is the median over parts of the measured time, since other processes may
        disturb some of them.
        """
        if len(self._ends) < 2:
            return None
        begin = self._begin()
        last = len(self._ends) - 1
        parts = min(_PARTS, last - begin)
        edges = [begin + round((last - begin) * i / parts) for i in range(parts + 1)]
        seconds, cores = zip(*map(self._of_part, edges, edges[1:]))
        return TimedSteps(statistics.median(seconds), statistics.median(cores))

    def _of_part(self, begin: int, end: int) -> tuple[float, float]:
        steps, seconds, cpu = (
            after - before for before, after in zip(self._ends[begin], self._ends[end])
        )
        return seconds / steps, cpu / seconds if seconds else 0.0

    def _since_warm_up(self) -> tuple[int, float, float]:
        first, last = self._ends[self._begin()], self._ends[-1]
        return tuple(after - before for before, after in zip(first, last))

    def _begin(self) -> int:
        """Returns where the warm-up ends: early if there are few or slow steps."""
        return min(_WARM_UP_STEPS - 1, max(len(self._ends) - 2, 0))
