"""Measures what a training program takes beside its dense part and its calls."""

from __future__ import annotations

import dataclasses
import functools
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import workload_w1
from cost_fits import fit
from turns import run_program

from persia_tf.simulation.bisection import bisected
from persia_tf.simulation.client import seconds_of_step
from persia_tf.simulation.costs import Costs, Work
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate

_BATCHES = (4096, 512)
_QUICK_BATCHES = (256, 64)
_LAYERS = {"joined": 1, "separate": workload_w1.FEATURES}
_PASSES = 3


@dataclasses.dataclass(frozen=True)
class Dense:
    """The dense part of a step, alone on this machine.

    Attributes:
        seconds: Its time.
        cores: How many cores it keeps busy, on the mean.
    """

    seconds: float
    cores: float


@dataclasses.dataclass(frozen=True)
class Training:
    """How the click model is trained.

    Attributes:
        batch: Examples per step.
        layers: The embedding layers.
        dense: The dense part of a step.
    """

    batch: int
    layers: int
    dense: Dense


@dataclasses.dataclass(frozen=True)
class Trained:
    """What training took.

    Attributes:
        per_second: Its steps per second.
        cpu_seconds: The processor time of the program per step.
    """

    per_second: float
    cpu_seconds: float


def dense_part(batch: int, quick: bool) -> Dense:
    """Measures the dense part of the click model's step."""
    said = train("--embedding", "ready", batch=batch, quick=quick)
    seconds = batch / said["samples_per_second"]
    return Dense(seconds, said["program_cpu_ms_per_step"] / 1e3 / seconds)


@functools.cache
def rows_of(batch: int) -> float:
    """Returns the mean number of distinct ids of a batch of the click model."""
    ids = workload_w1.load().ids()[:50, :batch]
    return sum(len(set(each.ravel().tolist())) for each in ids) / len(ids)


class TrainingRounds:
    """Trains, in rounds, what `Costs.trainer` comes from: with one shard.

    Args:
        quick: Whether to train only for a smoke test.
    """

    def __init__(self, quick: bool) -> None:
        self._quick = quick
        batches = _QUICK_BATCHES if quick else _BATCHES
        self._dense: dict[int, list[Dense]] = {batch: [] for batch in batches}
        self._said: dict[tuple[int, str], list[dict[str, Any]]] = {
            (batch, layers): [] for batch in batches for layers in _LAYERS
        }

    def measure(self) -> None:
        """Trains each once."""
        for batch, dense in self._dense.items():
            dense.append(dense_part(batch, self._quick))
            for layers in _LAYERS:
                options = ("--embedding", "persia-remote", "--shards", 1)
                options += ("--layers", layers)
                said = train(*options, batch=batch, quick=self._quick)
                self._said[batch, layers].append(said)

    @property
    def found(self) -> dict[Training, Trained]:
        """What each training took, the median of all rounds."""
        return {
            Training(batch, _LAYERS[layers], median_of(self._dense[batch])): Trained(
                statistics.median(each["samples_per_second"] for each in said) / batch,
                statistics.median(each["program_cpu_ms_per_step"] for each in said)
                / 1e3,
            )
            for (batch, layers), said in self._said.items()
        }


def median_of(parts: Sequence[Dense]) -> Dense:
    """Returns the median of dense parts."""
    return Dense(*map(statistics.median, zip(*map(dataclasses.astuple, parts))))


def trainer_work(costs: Costs, found: Mapping[Training, Trained]) -> Work:
    """Returns `Costs.trainer`: what a step takes, per call, layer and id.

    Processor times tell what a layer takes. They are differences of large ones, and
    leave out what threads wait for each other, so that the rates of training tell what
    a step and an id take.

    Args:
        costs: What calls take.
        found: What trainings took.
    """
    terms, seconds = [], []
    for training, trained in found.items():
        dense = training.dense
        used = trained.cpu_seconds - dense.cores * dense.seconds
        asking = seconds_of_step(setup_of(training), costs)
        used = used * costs.crowded_speed - asking
        terms.append(_counts(training))
        seconds.append(max(used, 1e-6))
    trainer = Work(**fit(terms, seconds).takes)
    costs = dataclasses.replace(costs, trainer=trainer)
    large, small = (
        {training: each for training, each in found.items() if training.batch == batch}
        for batch in sorted({each.batch for each in found}, reverse=True)
    )
    for _ in range(_PASSES):
        costs = _as_fast(costs, "row", large)
        costs = _as_fast(costs, "call", small)
    return costs.trainer


def _counts(training: Training) -> dict[str, float]:
    ids = workload_w1.FEATURES * training.batch
    return {"call": 1, "table": training.layers, "row": ids}


def _as_fast(costs: Costs, name: str, found: Mapping[Training, Trained]) -> Costs:
    """Returns costs of which one makes simulated training as fast as measured."""

    def with_one(taken: float) -> Costs:
        trainer = dataclasses.replace(costs.trainer, **{name: taken})
        return dataclasses.replace(costs, trainer=trainer)

    def is_too_fast(taken: float) -> bool:
        tried = with_one(taken)
        faster = [
            simulate(setup_of(training), costs=tried, steps=100).per_second
            / trained.per_second
            for training, trained in found.items()
        ]
        return statistics.geometric_mean(faster) > 1.0

    most = min(1 / each.per_second / _counts(t)[name] for t, each in found.items())
    return with_one(bisected(0.0, most, is_too_fast))


def setup_of(training: Training, **others: Any) -> Setup:
    """Returns the set-up of training on this machine.

    Args:
        training: How it is trained.
        **others: Attributes of the set-up besides, such as the number of shards.
    """
    return Setup(
        tables=workload_w1.FEATURES,
        layers=training.layers,
        dim=workload_w1.DIM,
        rows=rows_of(training.batch),
        ids=workload_w1.FEATURES * training.batch,
        examples=training.batch,
        dense_seconds=training.dense.seconds,
        dense_cores=training.dense.cores,
        cores=os.cpu_count() or 1,
        **others,
    )


def train(*options: object, batch: int, quick: bool) -> dict[str, Any]:
    """Trains the click model in a process of its own; returns its figures.

    Args:
        *options: Options of train_throughput.py.
        batch: Examples per step.
        quick: Whether to train only for a smoke test.
    """
    options += ("--batch", batch, "--windows", 3, "--seconds", 2)
    if quick:
        options += ("--quick",)
    return run_program("train_throughput.py", *options)["figures"]
