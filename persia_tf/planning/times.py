"""How long a step takes, and what follows of that: trainers, the run, and its cost."""

from __future__ import annotations

import dataclasses
import math

from persia_tf.planning.parts import ShardsPlan
from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import StepLoad
from persia_tf.planning.time_parts import RunTimes, ShardTimes
from persia_tf.simulation.clock import Clock
from persia_tf.simulation.costs import Costs
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.shard import IO_THREADS
from persia_tf.simulation.simulate import Simulated, simulate
from persia_tf.simulation.trainer import AllReduce

MOST_STALENESS = 64
"""The most staleness that is tried to hide a latency."""

_HIDDEN = 1.05
_MOST_BUSY = 0.8
_MOST_TRAINERS = 10_000
# More unfinished steps than these change nothing, but take long to simulate.
_MOST_UNFINISHED = 256
_STEPS = 100
_WARM_UP = 20
_GBIT = 1e9 / 8


class TimesOfShards:
    """Predicts times for numbers of shards, by simulating their set-ups.

    Args:
        load: What a step of a trainer does.
        run: For which run, and with which machines.
        run_steps: The steps of the run in all epochs, over all of its trainers.
        costs: What work takes on this machine.
        cores: The cores of a machine.
    """

    def __init__(
        self, load: StepLoad, run: RunTimes, run_steps: int, costs: Costs, cores: int
    ) -> None:
        self._load = load
        self._run = run
        self._run_steps = run_steps
        self._costs = costs
        self._cores = cores

    def of(self, planned: ShardsPlan, own: TimedSteps) -> ShardTimes:
        """Returns the times for a number of shards.

        Args:
            planned: What that number of shards has to do.
            own: The model's own part of a step.
        """
        setup = self._setup(planned, own)
        one = self._simulated(setup)
        step = 1 / one.per_second
        trainers, highest_rate = self._trainers(setup, one)
        rate = run_seconds = cost = None
        if trainers is not None:
            rate = highest_rate  # Fewer trainers did not reach the target.
            run_seconds = self._run_steps * self._load.examples / rate
            cost = self._cost(trainers, planned.shards, run_seconds)
        busiest_bytes = planned.checkpoint_bytes.value * planned.busiest_rows
        return ShardTimes(
            own_step_seconds=own.seconds,
            own_step_cores=own.cores,
            step_seconds=step,
            examples_per_second=self._load.examples / step,
            busiest=one.bottleneck,
            busy=one.busy[one.bottleneck],
            hiding_staleness=self._hiding_staleness(setup),
            checkpoint_seconds=busiest_bytes
            / planned.shards
            / self._costs.checkpoint_bytes_per_second,
            trainers=trainers,
            highest_rate=highest_rate,
            rate=rate,
            run_seconds=run_seconds,
            cost=cost,
        )

    def _setup(self, planned: ShardsPlan, own: TimedSteps) -> Setup:
        run = self._run
        return self._load.setup(
            planned,
            staleness=min(run.staleness, _MOST_UNFINISHED),
            dense_seconds=own.seconds,
            dense_cores=own.cores,
            same_machine=run.same_machine,
            cores=self._cores,
            network_bytes_per_second=run.network_gbits * _GBIT,
            delay_seconds=run.latency,
        )

    def _simulated(self, setup: Setup) -> Simulated:
        # As many steps as may be unfinished begin at once, and only then take turns.
        warm_up = _WARM_UP + setup.staleness
        return simulate(setup, costs=self._costs, steps=_STEPS, warm_up=warm_up)

    def _hiding_staleness(self, setup: Setup) -> int | None:
        if setup.delay_seconds == 0:
            return 0

        def hides(staleness: int) -> bool:
            late = dataclasses.replace(setup, staleness=staleness)
            near = dataclasses.replace(late, delay_seconds=0.0)
            fastest = self._simulated(near).per_second
            return self._simulated(late).per_second * _HIDDEN >= fastest

        if not hides(MOST_STALENESS):
            return None
        # More staleness hides more, so the least one can be found by halving.
        least, enough = 0, MOST_STALENESS
        while least < enough:
            middle = (least + enough) // 2
            if hides(middle):
                enough = middle
            else:
                least = middle + 1
        return enough

    def _trainers(self, setup: Setup, one: Simulated) -> tuple[int | None, float]:
        """Returns how many trainers reach the target, and the highest rate of fewer.

        No number of trainers may reach it: then it is None, and the rate is the highest
        of any number.
        """
        target, highest = self._run.target_rate, 0.0
        for trainers in range(1, _MOST_TRAINERS + 1):
            if trainers > 1 and _busy_shards(one, trainers) > _MOST_BUSY:
                break
            rate = self._rate(setup, 1 / one.per_second, trainers)
            highest = max(highest, rate)
            if target is None or rate >= target:
                return trainers, highest
        return None, highest

    def _rate(self, setup: Setup, step: float, trainers: int) -> float:
        """Returns the examples per second of some trainers."""
        all_reduce = 0.0
        if trainers > 1:
            # Trainers are near each other, however far away the shards are.
            near = dataclasses.replace(setup, trainers=trainers, delay_seconds=0.0)
            all_reduce = AllReduce(near, Clock()).seconds
        return trainers * self._load.examples / (step + all_reduce)

    def _cost(self, trainers: int, shards: int, seconds: float) -> float | None:
        prices = self._run.prices
        if prices is None:
            return None
        per_hour = trainers * prices.trainer + shards * prices.shard
        return per_hour * seconds / 3600


def _busy_shards(one: Simulated, trainers: int) -> float:
    """Returns in which part of the time shards' busiest resource is busy.

    Args:
        one: What one trainer does.
        trainers: How many trainers do the same. They share the shards' I/O threads.
    """
    loads = []
    for resource, busy in one.busy.items():
        if resource == "I/O threads of shards":
            loads.append(busy * math.ceil(trainers / IO_THREADS))
        elif resource.endswith("shards"):
            loads.append(busy * trainers)
    return max(loads)
