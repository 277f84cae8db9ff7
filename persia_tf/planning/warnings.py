"""What makes a plan less certain."""

from __future__ import annotations

from collections.abc import Iterator

from persia_tf.base.amounts import given_size_text, size_text
from persia_tf.eviction import TTL
from persia_tf.planning.model_tables import ModelTable
from persia_tf.planning.observe import Sample
from persia_tf.planning.parts import TablePlan
from persia_tf.planning.plan import Plan
from persia_tf.planning.time_warnings import warnings_of_times

_FEW_STEPS = 10
_LEAST_PART = 0.1
_WIDE = 0.25


def warnings_of(plan: Plan, tables: list[ModelTable], sample: Sample) -> list[str]:
    """Returns a sentence for each thing that makes a plan less certain."""
    return [
        *_of_memory(plan),
        *warnings_of_times(plan),
        *_of_size(plan),
        *_of_features(sample),
        *(text for pair in zip(plan.tables, tables) for text in _of_table(*pair)),
        *_of_traffic(tables, sample),
    ]


def _of_memory(plan: Plan) -> Iterator[str]:
    if plan.memory_limit is None or any(each.fits for each in plan.shards):
        return
    most = max(plan.shards, key=lambda each: each.shards)
    if plan.least_shards is None:
        remedy = "no number of shards is enough: make rows smaller (`row_dtype`), or "
        remedy += "fewer (`capacity`, `admission`)"
    else:
        remedy = f"give {plan.least_shards:,} shards or more"
    busiest = "one shard"
    if most.shards > 1:
        busiest = f"the busiest of {most.shards:,} shards"
    yield (
        f"the run may not fit: {busiest} may need "
        f"{size_text(most.busiest_shard_bytes.high)} of memory, and the limit is "
        f"{given_size_text(plan.memory_limit)}; {remedy}"
    )


def _of_size(plan: Plan) -> Iterator[str]:
    part = plan.sample_steps / plan.run_steps
    if part < _LEAST_PART:
        yield (
            f"the sample has {part:.1%} of the run's steps; from less than "
            f"{_LEAST_PART:.0%}, numbers of rows may be far off, so their intervals "
            "are wide. Give more batches"
        )
    if plan.sample_steps < _FEW_STEPS < plan.run_steps:
        yield (
            f"the sample has {plan.sample_steps} batches; with fewer than "
            f"{_FEW_STEPS}, nothing says whether its ids are those of later batches. "
            "Give more batches"
        )


def _of_features(sample: Sample) -> Iterator[str]:
    if sample.not_taken:
        yield (
            "the model has no inputs for these features of the sample, which were "
            f"left out: {', '.join(sample.not_taken)}. If their ids are to be looked "
            "up, plan with a model that has them as inputs"
        )


def _of_table(planned: TablePlan, table: ModelTable) -> Iterator[str]:
    name = f"table '{planned.name}'"
    if not planned.sampled_ids:
        yield f"{name}: the sample has no ids of this table"
    if planned.drift:
        yield (
            f"{name}: the first half of the sample has other ids than all of it, by "
            f"{planned.drift:.0%}: the stream changes, or is sorted. Shuffle it, or "
            "sample batches from all of it, if the run will"
        )
    if planned.ids.spread > _WIDE:
        yield (
            f"{name}: the number of ids is uncertain, from {planned.ids.low:,.0f} to "
            f"{planned.ids.high:,.0f}. A larger sample narrows it"
        )
    if isinstance(table.eviction, TTL) and "seconds" in table.eviction.get_config():
        yield (
            f"{name}: rows expire by seconds, and the plan knows no times, so its rows "
            "are those that would be there without expiry"
        )
    if table.is_assumed:
        yield (
            f"{name}: the model is not compiled and the layer has no `optimizer`, so "
            "the optimizer state of Adam is assumed. Compile the model first"
        )
    if not table.trained:
        yield f"{name}: its layers are frozen, so training creates no rows"


def _of_traffic(tables: list[ModelTable], sample: Sample) -> Iterator[str]:
    if any(table.hot_rows for table in tables):
        yield (
            "the cluster has `hot_rows`: a program reads copies of hot rows, so "
            "lookups take fewer bytes than the plan says"
        )
    if len({each.session for each in sample.lookups}) > 1:
        yield (
            "the model's layers use several clusters: the plan is that of one cluster "
            "with all tables, to which each step sends the requests of each"
        )
