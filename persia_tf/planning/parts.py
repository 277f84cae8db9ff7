"""The parts of a plan: what each table needs, and each number of shards."""

from __future__ import annotations

import dataclasses

from persia_tf.planning.estimate import Estimate
from persia_tf.planning.skew import Skew
from persia_tf.planning.time_parts import ShardTimes


@dataclasses.dataclass(frozen=True)
class GrowthPoint:
    """How many distinct ids a table meets in the first steps of a run.

    Attributes:
        steps: How many steps.
        ids: The distinct ids in them.
    """

    steps: int
    ids: Estimate


@dataclasses.dataclass(frozen=True)
class TablePlan:
    """What a table needs by the end of a run.

    Attributes:
        name: The table's full name.
        dim: Weights per row.
        row_dtype: The dtype of the weights on shards.
        optimizer: The row optimizer, in the core's text format.
        admission: The admission rule, in the core's text format.
        lookups: Training lookups of the table per step.
        ids_per_step: The mean number of distinct ids that a step looks up.
        repeated_ids_per_step: The mean number of ids of a step, with all repeats.
        sampled_ids: How many distinct ids the sample has.
        ids: How many distinct ids the run has.
        rows: How many rows the table has at the end.
        row_bytes: The bytes of a row: weights, what eviction notes, optimizer state.
        bytes: The memory of the table on one shard that holds all rows: rows, state,
            index, and what admission counts.
        checkpoint_bytes: The bytes of the table's rows in a checkpoint.
        growth: The distinct ids of the first steps of the run, for some numbers of
            steps, rising: as the sample has them, and beyond it as predicted.
        law: By which law the ids beyond the sample were predicted: "none" if the run
            is not longer than the sample.
        drift: The part by which the ids at the sample's beginning differ from those of
            all of it; 0 if that may be chance.
        skew: How unequally often the ids are looked up.
    """

    name: str
    dim: int
    row_dtype: str
    optimizer: str
    admission: str
    lookups: int
    ids_per_step: float
    repeated_ids_per_step: float
    sampled_ids: int
    ids: Estimate
    rows: Estimate
    row_bytes: int
    bytes: Estimate
    checkpoint_bytes: Estimate
    growth: tuple[GrowthPoint, ...]
    law: str
    drift: float
    skew: Skew


@dataclasses.dataclass(frozen=True)
class ShardsPlan:
    """What a number of shards has to do for each trainer, and to hold.

    The slots are spread evenly, as in a new cluster.

    Attributes:
        shards: The number of shards.
        lookup_requests: Lookup requests per step of a trainer, over all shards.
        update_requests: Update requests per step of a trainer, over all shards.
        bytes_out: Bytes per step that a trainer sends, in lookups and updates.
        bytes_in: Bytes per step that a trainer receives.
        lookup_bytes: Bytes per step of lookups and their replies.
        update_bytes: Bytes per step of updates and their replies.
        busiest_rows: The rows of the shard with the most, over the mean of all shards.
        busiest_ids: The ids per step of the shard with the most, over the mean.
        busiest_bytes: The bytes per step of the shard with the most, over the mean.
        bytes: The memory of all tables on all shards at the end of the run.
        busiest_shard_bytes: The memory of all tables on the shard with the most rows.
        fits: Whether the upper end of `busiest_shard_bytes` is within the memory limit;
            None without a limit.
        checkpoint_bytes: The bytes of a checkpoint, over all of its files.
        times: The time of a step, and what follows of it; None unless asked for.
    """

    shards: int
    lookup_requests: float
    update_requests: float
    bytes_out: float
    bytes_in: float
    lookup_bytes: float
    update_bytes: float
    busiest_rows: float
    busiest_ids: float
    busiest_bytes: float
    bytes: Estimate
    busiest_shard_bytes: Estimate
    fits: bool | None
    checkpoint_bytes: Estimate
    times: ShardTimes | None = None

    @property
    def requests(self) -> float:
        """Requests per step of a trainer, over all shards."""
        return self.lookup_requests + self.update_requests
