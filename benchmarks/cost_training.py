"""Measures what a training program takes beside its dense part and its calls."""

from __future__ import annotations

import dataclasses
import functools
import os
import statistics
from collections.abc import Mapping
from typing import Any

import workload_w1
from cost_fits import fit
from turns import run_program

from persia_tf.simulation.bisection import bisected
from persia_tf.simulation.costs import Costs, Work
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate

_BATCHES = (4096, 512)
_QUICK_BATCHES = (256, 64)
_ROW_BYTES = 4 * workload_w1.DIM


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


def trainer_work(costs: Costs, quick: bool) -> Work:
    """Measures `Costs.trainer`, by training with one shard.

    Args:
        costs: What calls take.
        quick: Whether to train only for a smoke test.

    Returns:
        What a step takes, per call, layer and id.
    """
    terms, seconds, rates = [], [], {}
    for batch in _QUICK_BATCHES if quick else _BATCHES:
        dense = dense_part(batch, quick)
        for layers in ("joined", "separate"):
            said = train(
                *("--embedding", "persia-remote", "--shards", 1),
                *("--layers", layers),
                batch=batch,
                quick=quick,
            )
            used = said["program_cpu_ms_per_step"] / 1e3 - dense.cores * dense.seconds
            used = used * costs.crowded_speed - _calls(costs, rows_of(batch))
            count = 1 if layers == "joined" else workload_w1.FEATURES
            ids = workload_w1.FEATURES * batch
            terms.append({"call": 1, "table": count, "row": ids})
            seconds.append(max(used, 1e-6))
            training = Training(batch, count, dense)
            rates[training] = said["samples_per_second"] / batch
    costs = dataclasses.replace(costs, trainer=Work(**fit(terms, seconds).takes))
    return _with_call(costs, rates).trainer


def _with_call(costs: Costs, rates: Mapping[Training, float]) -> Costs:
    """Returns costs with which simulated steps per second are as measured.

    What a step takes besides is the difference of large processor times, so that the
    fit tells its parts per layer and id, and hardly its part per step.
    """

    def with_call(call: float) -> Costs:
        trainer = dataclasses.replace(costs.trainer, call=call)
        return dataclasses.replace(costs, trainer=trainer)

    def is_too_fast(call: float) -> bool:
        faster = [
            simulate(setup_of(training), costs=with_call(call), steps=100).per_second
            / rate
            for training, rate in rates.items()
        ]
        return statistics.geometric_mean(faster) > 1.0

    return with_call(bisected(0.0, 1.0 / min(rates.values()), is_too_fast))


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


def _calls(costs: Costs, rows: float) -> float:
    """Returns what the program needs as a client: a lookup and an update per step."""
    terms = (1, 1, workload_w1.FEATURES, rows, rows * _ROW_BYTES)
    return sum(
        work.seconds(*terms)
        for kind in (costs.lookup, costs.update)
        for work in (kind.caller, kind.io)
    )


def train(*options: object, batch: int, quick: bool) -> dict[str, Any]:
    """Trains the click model in a process of its own; returns its figures.

    Args:
        *options: Options of train_throughput.py.
        batch: Examples per step.
        quick: Whether to train only for a smoke test.
    """
    options += ("--batch", batch, "--windows", 4, "--seconds", 2)
    if quick:
        options += ("--quick",)
    return run_program("train_throughput.py", *options)["figures"]
