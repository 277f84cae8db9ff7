"""The parts of a plan about time."""

from __future__ import annotations

import dataclasses

from persia_tf.planning.time_options import Prices


@dataclasses.dataclass(frozen=True)
class RunTimes:
    """For which run, and with which machines, times are planned.

    Attributes:
        is_measured: Whether the model's own part of a step was measured, and not given.
        staleness: How many steps an update of rows may be late. Lookups are prefetched
            by as many steps.
        same_machine: Whether the trainer and all shards share the cores of this
            machine. Otherwise each program has a machine like this one.
        latency: The delay of a message to a shard in seconds, each direction.
        network_gbits: The rate of a machine's network in Gb/s, each direction.
        target_rate: How many examples per second are wanted; None for any number.
        prices: The prices of programs; None if they are not known.
        speed: The time of a fixed piece of work on this machine over that on the one
            whose costs were measured; None if that is not known.
    """

    is_measured: bool
    staleness: int
    same_machine: bool
    latency: float
    network_gbits: float
    target_rate: float | None
    prices: Prices | None
    speed: float | None


@dataclasses.dataclass(frozen=True)
class ShardTimes:
    """What a number of shards takes, and lets trainers do, in time.

    Attributes:
        own_step_seconds: The time of the model's own part of a step: without lookups
            and updates of rows.
        own_step_cores: How many cores that part keeps busy, on the mean; 0 if it runs
            on an accelerator.
        step_seconds: The time of a step of one trainer.
        examples_per_second: How many examples one trainer trains.
        busiest: What is busy for most of a step, such as "cores of trainers".
        busy: The part of the time in which that is busy.
        hiding_staleness: The least staleness at which a step is within 5% of one
            without latency, at most 64. None if so much is not enough.
        checkpoint_seconds: How long the busiest shard writes a checkpoint.
        trainers: How many trainers reach the target rate, with the busiest of each
            shard's resources busy for at most 80% of the time; 1 without a target. None
            if the shards are too few for so many trainers.
        highest_rate: How many examples per second as many trainers or fewer reach; if
            the shards are too few for the target rate, any number of trainers.
        rate: How many examples all trainers train per second; None as `trainers`.
        run_seconds: How long they train for all epochs; None as `trainers`.
        cost: What they and the shards cost in that time; None without prices, and as
            `trainers`.
    """

    own_step_seconds: float
    own_step_cores: float
    step_seconds: float
    examples_per_second: float
    busiest: str
    busy: float
    hiding_staleness: int | None
    checkpoint_seconds: float
    trainers: int | None
    highest_rate: float
    rate: float | None
    run_seconds: float | None
    cost: float | None
