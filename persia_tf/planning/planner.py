"""`ptf.plan`: predicts what a run needs, from a sample of its batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from persia_tf._keras import keras
from persia_tf.base import checks, sizes
from persia_tf.planning.grown_table import GrownTable
from persia_tf.planning.machine import this_machine
from persia_tf.planning.model_tables import ModelTable, tables_of
from persia_tf.planning.observe import Sample, observe
from persia_tf.planning.plan import Plan
from persia_tf.planning.run_times import costs_here, run_times
from persia_tf.planning.shard_numbers import MOST_SHARDS, least_shards, shards_plan
from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import load_of
from persia_tf.planning.time_options import TimeOptions, checked_options
from persia_tf.planning.times import TimesOfShards
from persia_tf.planning.trials import Trials
from persia_tf.planning.tried_step import KeptBatches, check_can_be_timed
from persia_tf.planning.warnings import warnings_of
from persia_tf.simulation.costs import Work

_MOST_STEPS = 10**12


def plan(
    model: Any,
    sample: Any,
    *,
    steps: int | None = None,
    run_steps: int | None = None,
    epochs: int = 1,
    shards: int | Sequence[int] = (1, 2, 4, 8),
    memory_limit: int | str | None = None,
    time: bool = False,
    step_seconds: float | None = None,
    staleness: int | None = None,
    latency: float = 0.0,
    network_gbits: float = 10.0,
    target_rate: float | None = None,
    prices: Mapping[str, float] | None = None,
) -> Plan:
    """Predicts what a run needs: rows, memory, traffic, balance, and if asked, time.

    The ids of the sample's batches are read, as `ptf.data.prefetch` reads them, and
    nothing is looked up or trained. The rows that the whole run will have are
    extrapolated from how often the ids of the sample occur, each with an interval. The
    sample should be drawn from all of the run's data, or be its beginning if the data
    is shuffled, and have 10% of its steps or more.

    Needs no shard: a model whose layers have no cluster is planned in this process.

    With `time` or `step_seconds`, the plan also has the time of a step: the model's own
    part is measured in a short trial, or given, and requests are simulated with the
    costs that benchmarks have measured.

    Example:

    ```python
    plan = ptf.plan(model, dataset.take(1000), run_steps=10_000, shards=[2, 4])
    print(plan)
    ```

    Args:
        model: A Keras model with `PersiaEmbedding` or `PersiaEmbeddings` layers, as it
            will be trained: compile it first, since the optimizer decides how much
            state a row has. It is built if necessary, which creates its tables, without
            rows.
        sample: A `tf.data.Dataset`, or another iterable, of batches as `fit` takes
            them: `x`, `(x, y)` or `(x, y, sample_weight)`.
        steps: How many batches of the sample to read at most. None reads all of them,
            and is refused for a dataset without an end; whether a generator ends is not
            known. Defaults to None.
        run_steps: How many steps, of batches like those of the sample, the run has in
            one epoch, over all of its trainers. Defaults to None: as many as were read
            of the sample.
        epochs: How often the run passes over the same data. More epochs bring no other
            ids; `MinCount` admits more of them. Defaults to `1`.
        shards: For which numbers of shards to plan: an int, or several. Defaults to
            `(1, 2, 4, 8)`.
        memory_limit: The memory for tables on each shard, as `persia ps --memory-limit`
            takes it: a number of bytes, or a text such as `"64GiB"`. The plan then says
            which numbers of shards fit, by the upper end of the interval of the busiest
            shard's memory, and the least number that does. Defaults to None: no limit.
        time: Whether to predict times. The model is then tried: it is trained on the
            sample for about two seconds, at most about 20, with each number of `shards`
            up to 8, on this machine, and is afterwards as it was before. If each
            program is to have a machine of its own, it is tried with one shard. It must
            be compiled, and the sample have labels. Defaults to False.
        step_seconds: The time of a step of the model without its lookups, if it is
            known. It is given instead of `time`, for example for another machine.
            Defaults to None.
        staleness: How many steps an update of rows may be late, with lookups that are
            prefetched by as many steps, as `ptf.data.prefetch` does. 0 trains
            synchronously. Defaults to None: the staleness of the cluster.
        latency: The delay of a message to a shard in seconds, each direction. If it is
            0 and there is no `target_rate`, all programs share this machine; otherwise
            each has a machine like this one. Defaults to `0.0`.
        network_gbits: The rate of a machine's network in Gb/s, each direction. Defaults
            to `10.0`.
        target_rate: How many examples per second the run should train. The plan then
            says how many trainers it takes, each with a machine like this one, as each
            shard has. Defaults to None: one trainer.
        prices: What a trainer and a shard cost per hour, such as
            `{"trainer": 3.0, "shard": 0.8}`. The plan then says what the run costs.
            Defaults to None.

    Returns:
        A `ptf.Plan`.

    Raises:
        TypeError: if `model` is not a Keras model, `sample` is not an iterable of
            batches, or an argument has another type.
        ValueError: if `sample` is empty, lacks inputs of the model, or has no end and
            `steps` is None; if the model has none of our layers; if a number is out of
            its range, or `run_steps` is below the number of batches that were read;
            if `memory_limit` is below 1, or a text that is no size; if both `time` and
            `step_seconds` are given, or neither of them but other options about time;
            or if `time` is True and the model is not compiled, or cannot be trained on
            the sample.
        PersiaError: when layers are built whose cluster has shards: if a shard does not
            answer, or a table has other settings; or if the shards of a trial do not
            start.
    """
    checks.instance("model", model, keras.Model, "a Keras model")
    if steps is not None:
        steps = checks.integer("steps", steps, 1, _MOST_STEPS)
    if run_steps is not None:
        run_steps = checks.integer("run_steps", run_steps, 1, _MOST_STEPS)
    epochs = checks.integer("epochs", epochs, 1, 10**6)
    numbers = _checked_shards(shards)
    limit = _checked_limit(memory_limit)
    options = checked_options(
        time=time,
        step_seconds=step_seconds,
        staleness=staleness,
        latency=latency,
        network_gbits=network_gbits,
        target_rate=target_rate,
        prices=prices,
    )
    if options.time:
        check_can_be_timed(model)
        if isinstance(sample, Iterator):
            sample = KeptBatches(sample)  # It can be read only once.
    read = observe(model, sample, steps)
    run_steps = read.steps if run_steps is None else run_steps
    if run_steps < read.steps:
        raise ValueError(
            "`run_steps` must be at least the number of batches that are read of "
            f"`sample`, {read.steps}: give fewer of them by `steps`, or leave "
            f"`run_steps` out. Received: run_steps={run_steps}"
        )
    tables = tables_of(model, read)
    grown = [GrownTable.of(table, read, run_steps, epochs) for table in tables]
    by_number = tuple(shards_plan(grown, read, number, limit) for number in numbers)
    planned = Plan(
        batch_size=read.batch_size,
        sample_steps=read.steps,
        run_steps=run_steps,
        epochs=epochs,
        tables=tuple(each.planned(read) for each in grown),
        shards=by_number,
        memory_limit=limit,
        least_shards=None if limit is None else least_shards(grown, limit, by_number),
        warnings=(),
    )
    if options.is_asked:
        planned = _with_times(planned, options, model, sample, read, tables, grown)
    return dataclasses.replace(
        planned, warnings=tuple(warnings_of(planned, tables, read))
    )


def _with_times(
    planned: Plan,
    options: TimeOptions,
    model: Any,
    sample: Any,
    read: Sample,
    tables: Sequence[ModelTable],
    grown: Sequence[GrownTable],
) -> Plan:
    load = load_of(model, read)
    costs, speed = costs_here()
    run = run_times(options, tables, speed)
    machine = this_machine()
    if options.step_seconds is None:
        # The ops that TensorFlow runs for lookups are of the own part, too.
        costs = dataclasses.replace(costs, trainer=Work())
    trials = Trials(
        *(model, sample, read.steps, tables, load),
        planned=lambda number: shards_plan(grown, read, number, None),
        costs=costs,
        machine=machine,
    )
    run_steps = planned.run_steps * planned.epochs
    times = TimesOfShards(load, run, run_steps, costs, machine.cores)

    def own(shards: int) -> TimedSteps:
        if options.step_seconds is not None:
            return TimedSteps(options.step_seconds, 1.0)
        return trials.own_part(shards, run.same_machine)

    timed = (
        dataclasses.replace(each, times=times.of(each, own(each.shards)))
        for each in planned.shards
    )
    return dataclasses.replace(planned, shards=tuple(timed), times=run)


def _checked_shards(shards: int | Sequence[int]) -> list[int]:
    if checks.is_integer(shards):
        shards = [shards]
    checks.instance(
        "shards", shards, (list, tuple, range, np.ndarray), "an int or a list of ints"
    )
    if not len(shards):
        raise ValueError(
            "`shards` must have at least one number of shards, such as shards=[2, 4]. "
            f"Received: shards={shards!r}"
        )
    return [checks.integer("shards", each, 1, MOST_SHARDS) for each in shards]


def _checked_limit(memory_limit: int | str | None) -> int | None:
    if memory_limit is None:
        return None
    limit = sizes.count_bytes("memory_limit", memory_limit)
    return checks.integer("memory_limit", limit, 1, sizes.MOST)
