"""A table at the end of a run, as a sample predicts it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from persia_tf.planning.admission import admitted, filter_counters, waiting
from persia_tf.planning.balance import over_mean, rows_by_shard
from persia_tf.planning.checkpoint_size import rows_size
from persia_tf.planning.counts import IdCounts, count_ids
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.growth import Growth
from persia_tf.planning.growth_curve import curve_of
from persia_tf.planning.kept_rows import kept
from persia_tf.planning.memory import table_bytes
from persia_tf.planning.model_tables import ModelTable
from persia_tf.planning.observe import Sample
from persia_tf.planning.parts import TablePlan
from persia_tf.planning.row_layout import StoredTable, stored_table
from persia_tf.planning.skew import skew_of


@dataclasses.dataclass(frozen=True)
class GrownTable:
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
    ) -> GrownTable:
        """Predicts a table from a sample.

        Args:
            table: The table.
            sample: What was read of the sample.
            run_steps: How many steps the run has in one epoch.
            epochs: How many epochs there are.
        """
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
    def checkpoint_bytes(self) -> Estimate:
        """The bytes of its rows in a checkpoint."""
        return _of_rows(
            self.rows, lambda rows: rows_size(rows, self.stored.layout.bytes)
        )

    @property
    def counts(self) -> IdCounts:
        """The ids of the sample."""
        return self.growth.counts

    def planned(self, sample: Sample) -> TablePlan:
        """Returns what the table needs, for a plan."""
        settings = self.table.settings
        return TablePlan(
            name=self.table.name,
            dim=settings.dim,
            row_dtype=settings.row_dtype,
            optimizer=settings.optimizer,
            admission=settings.admission,
            lookups=self.counts.lookups.count // sample.steps,
            ids_per_step=len(self.counts.lookups.places) / sample.steps,
            repeated_ids_per_step=self.counts.looked_up / sample.steps,
            sampled_ids=len(self.counts.ids),
            ids=self.growth.distinct(),
            rows=self.rows,
            row_bytes=self.stored.layout.bytes,
            bytes=self.memory(1),
            checkpoint_bytes=self.checkpoint_bytes,
            growth=curve_of(self.growth, sample.steps),
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

    def busiest_memory(self, shards: int) -> Estimate:
        """Returns the memory on the shard with the most rows of this table."""
        most = over_mean(self.rows_of(shards))
        return self.memory(shards, most).scaled(1 / shards)

    def rows_of(self, shards: int) -> np.ndarray:
        """Returns how many rows each shard has, float64, `(shards,)`."""
        ids = self.counts.ids
        shares = rows_by_shard(ids, self.growth.distinct().value, shards)
        return self.rows.value * shares


def _of_rows(rows: Estimate, size: Callable[[float], float]) -> Estimate:
    return Estimate(size(rows.value), size(rows.low), size(rows.high))


def _counts(table: ModelTable, sample: Sample) -> IdCounts:
    lookups = sample.of_table(table.key)
    # Only lookups that train create rows.
    trained = [each for each in lookups if each.trained] or lookups
    return count_ids(
        [each.ids[step] for step in range(sample.steps) for each in trained]
    )
