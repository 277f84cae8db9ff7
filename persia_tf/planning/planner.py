"""`ptf.plan`: predicts what a run needs, from a sample of its batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.planning.admission import admitted, filter_counters, waiting
from persia_tf.planning.balance import over_mean, rows_by_shard
from persia_tf.planning.checkpoint_size import files_size, rows_size
from persia_tf.planning.counts import IdCounts, count_ids
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.growth import Growth
from persia_tf.planning.kept_rows import kept
from persia_tf.planning.memory import table_bytes
from persia_tf.planning.model_tables import ModelTable, tables_of
from persia_tf.planning.observe import Sample, observe
from persia_tf.planning.parts import ShardsPlan, TablePlan
from persia_tf.planning.plan import Plan
from persia_tf.planning.row_layout import StoredTable, stored_table
from persia_tf.planning.skew import skew_of
from persia_tf.planning.traffic import traffic_of
from persia_tf.planning.warnings import warnings_of

_MOST_STEPS = 10**12
_MOST_SHARDS = 1024


def plan(
    model: Any,
    sample: Any,
    *,
    steps: int | None = None,
    run_steps: int | None = None,
    epochs: int = 1,
    shards: int | Sequence[int] = (1, 2, 4, 8),
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
            and is refused for a dataset without an end. Defaults to None.
        run_steps: How many steps, of batches like those of the sample, the run has in
            one epoch, over all of its trainers. Defaults to None: as many as were read
            of the sample.
        epochs: How often the run passes over the same data. More epochs bring no other
            ids; `MinCount` admits more of them. Defaults to `1`.
        shards: For which numbers of shards to plan: an int, or several. Defaults to
            `(1, 2, 4, 8)`.

    Returns:
        A `ptf.Plan`.

    Raises:
        TypeError: if `model` is not a Keras model, `sample` is not an iterable of
            batches, or a number is not an integer.
        ValueError: if `sample` is empty, lacks inputs of the model, or has no end and
            `steps` is None; if the model has none of our layers; if a number is out of
            its range, or `run_steps` is below the number of batches that were read.
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
    read = observe(model, sample, steps)
    run_steps = read.steps if run_steps is None else run_steps
    if run_steps < read.steps:
        raise ValueError(
            "`run_steps` must be at least the number of batches that are read of "
            f"`sample`, {read.steps}: give fewer of them by `steps`, or leave "
            f"`run_steps` out. Received: run_steps={run_steps}"
        )
    tables = tables_of(model, read)
    grown = [_Grown.of(table, read, run_steps, epochs) for table in tables]
    planned = Plan(
        batch_size=read.batch_size,
        sample_steps=read.steps,
        run_steps=run_steps,
        epochs=epochs,
        tables=tuple(each.planned(read) for each in grown),
        shards=tuple(_of_shards(grown, read, number) for number in numbers),
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
    return [checks.integer("shards", each, 1, _MOST_SHARDS) for each in shards]


@dataclasses.dataclass(frozen=True)
class _Grown:
    """A table at the end of a run.

    Attributes:
        table: The table.
        stored: What it costs before it has rows.
        growth: The growth of its distinct ids.
        rows: How many rows it has.
        waiting: How many ids its admission counts that have no row.
    """

    table: ModelTable
    stored: StoredTable
    growth: Growth
    rows: Estimate
    waiting: float

    @classmethod
    def of(
        cls, table: ModelTable, sample: Sample, run_steps: int, epochs: int
    ) -> _Grown:
        counts = _counts(table, sample)
        per_step = counts.lookups.count // sample.steps
        growth = Growth(counts, per_step * run_steps)
        stored = stored_table(table.settings)
        rows = Estimate.exact(0.0)
        counted = 0.0
        if table.trained:
            rows = admitted(growth, table.admission, epochs)
            rows = kept(
                rows,
                growth,
                table.eviction,
                table.settings.capacity,
                stored.layout.bytes,
            )
            counted = waiting(growth, table.admission, epochs)
        return cls(table, stored, growth, rows, counted)

    @property
    def counts(self) -> IdCounts:
        return self.growth.counts

    def planned(self, sample: Sample) -> TablePlan:
        settings = self.table.settings
        return TablePlan(
            name=self.table.name,
            dim=settings.dim,
            row_dtype=settings.row_dtype,
            optimizer=settings.optimizer,
            admission=settings.admission,
            lookups=self.counts.lookups.count // sample.steps,
            ids_per_step=len(self.counts.lookups.places) / sample.steps,
            sampled_ids=len(self.counts.ids),
            ids=self.growth.distinct(),
            rows=self.rows,
            row_bytes=self.stored.layout.bytes,
            bytes=self.memory(1),
            checkpoint_bytes=_of_rows(
                self.rows, lambda rows: rows_size(rows, self.stored.layout.bytes)
            ),
            law=self.growth.law,
            drift=self.growth.drift,
            skew=skew_of(self.growth),
        )

    def memory(self, shards: int, times: float = 1.0) -> Estimate:
        """Returns the memory on all shards, if each had `times` its share of rows."""
        turns_over = self.table.settings.eviction != "never"
        # Rows beyond a capacity are evicted only after the lookup that made them.
        beyond = 0.0
        if turns_over and self.rows.value < self.growth.distinct().value:
            beyond = len(self.counts.lookups.places) / self.counts.lookups.count
        return _of_rows(
            self.rows,
            lambda rows: table_bytes(
                (rows + beyond) * times,
                self.stored.layout.bytes,
                self.stored.empty_bytes,
                shards,
                counts_ids=self.table.settings.admission.startswith("min_count"),
                waiting=self.waiting * times,
                counters=filter_counters(self.table.admission),
                turns_over=turns_over,
            ),
        )

    def rows_of(self, shards: int) -> np.ndarray:
        """Returns how many rows each shard has."""
        ids = self.counts.ids
        shares = rows_by_shard(ids, self.growth.distinct().value, shards)
        return self.rows.value * shares


def _of_rows(rows: Estimate, size: Any) -> Estimate:
    return Estimate(size(rows.value), size(rows.low), size(rows.high))


def _counts(table: ModelTable, sample: Sample) -> IdCounts:
    lookups = sample.of_table(table.key)
    # Only lookups that train create rows.
    trained = [each for each in lookups if each.trained] or lookups
    return count_ids(
        [each.ids[step] for step in range(sample.steps) for each in trained]
    )


def _of_shards(tables: list[_Grown], sample: Sample, shards: int) -> ShardsPlan:
    wire_dtypes = {each.table.key[0]: each.table.wire_dtype for each in tables}
    sends_bags = not any(each.table.hot_rows for each in tables)
    traffic = traffic_of(sample, shards, wire_dtypes, sends_bags)
    rows = np.sum([each.rows_of(shards) for each in tables], axis=0)
    busiest_rows = over_mean(rows)
    memory = Estimate.sum(each.memory(shards) for each in tables)
    busiest = Estimate.sum(
        each.memory(shards, over_mean(each.rows_of(shards))) for each in tables
    )
    settings = [(each.table.name, each.table.settings) for each in tables]
    beside_rows = files_size(settings, shards)
    checkpoint = Estimate.sum(
        _of_rows(
            each.rows,
            lambda count, each=each: rows_size(count, each.stored.layout.bytes),
        )
        for each in tables
    )
    return ShardsPlan(
        shards=shards,
        lookup_requests=traffic.lookup_requests,
        update_requests=traffic.update_requests,
        bytes_out=traffic.bytes_out,
        bytes_in=traffic.bytes_in,
        lookup_bytes=traffic.lookup_bytes_out + traffic.lookup_bytes_in,
        update_bytes=traffic.update_bytes_out + traffic.update_bytes_in,
        busiest_rows=busiest_rows,
        busiest_ids=over_mean(traffic.ids),
        busiest_bytes=over_mean(traffic.bytes),
        bytes=memory,
        busiest_shard_bytes=busiest.scaled(1 / shards),
        checkpoint_bytes=Estimate(
            *(each + beside_rows for each in dataclasses.astuple(checkpoint))
        ),
    )
