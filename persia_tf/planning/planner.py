"""`ptf.plan`: predicts what a run needs, from a sample of its batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from persia_tf._keras import keras
from persia_tf.base import checks, sizes
from persia_tf.planning.grown_table import GrownTable
from persia_tf.planning.model_tables import tables_of
from persia_tf.planning.observe import observe
from persia_tf.planning.plan import Plan
from persia_tf.planning.shard_numbers import MOST_SHARDS, least_shards, shards_plan
from persia_tf.planning.warnings import warnings_of

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
) -> Plan:
    """Predicts what a run needs, without training: rows, memory, traffic, balance.

    The ids of the sample's batches are read, as `ptf.data.prefetch` reads them, and
    nothing is looked up. The rows that the whole run will have are extrapolated from
    how often the ids of the sample occur, each with an interval. The sample should be
    drawn from all of the run's data, or be its beginning if the data is shuffled, and
    have 10% of its steps or more.

    Needs no shard: a model whose layers have no cluster is planned in this process.

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

    Returns:
        A `ptf.Plan`.

    Raises:
        TypeError: if `model` is not a Keras model, `sample` is not an iterable of
            batches, or a number is not an integer.
        ValueError: if `sample` is empty, lacks inputs of the model, or has no end and
            `steps` is None; if the model has none of our layers; if a number is out of
            its range, or `run_steps` is below the number of batches that were read;
            if `memory_limit` is below 1, or a text that is no size.
        PersiaError: when layers are built whose cluster has shards: if a shard does not
            answer, or a table has other settings.
    """
    checks.instance("model", model, keras.Model, "a Keras model")
    if steps is not None:
        steps = checks.integer("steps", steps, 1, _MOST_STEPS)
    if run_steps is not None:
        run_steps = checks.integer("run_steps", run_steps, 1, _MOST_STEPS)
    epochs = checks.integer("epochs", epochs, 1, 10**6)
    numbers = _checked_shards(shards)
    limit = _checked_limit(memory_limit)
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
    return dataclasses.replace(
        planned, warnings=tuple(warnings_of(planned, tables, read))
    )


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
