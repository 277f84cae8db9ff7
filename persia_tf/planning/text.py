"""Shows a plan as text."""

from __future__ import annotations

import textwrap
from typing import Any

from persia_tf.base.amounts import counted_text, given_size_text, size_text
from persia_tf.base.tables import aligned
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.parts import ShardsPlan, TablePlan
from persia_tf.planning.time_text import rows_of_times, times_legend

_TABLE_HEADER = (
    *("table", "row", "ids seen", "ids", "rows", "at least", "at most"),
    *("bytes/row", "memory", "checkpoint", "top 1%", "Zipf"),
)
_SHARDS_HEADER = (
    *("shards", "requests", "sent", "received", "memory", "of one shard"),
    *("checkpoint", "rows", "ids", "bytes"),
)
_FITS = {True: "yes", False: "no"}
SHARDS_LEGEND = (
    "Per step of each trainer, and at the end of the run; the busiest shard over the "
    "mean, by rows, by ids of lookups and by bytes per step:"
)
_COLUMNS = 80


def plan_text(plan: Any) -> str:
    """Returns a plan as tables: of its tables, of numbers of shards, and of times.

    `top 1%` is the part of lookups' ids that go to the hottest 1% of rows. In the
    second table, `rows`, `ids` and `bytes` are those of the busiest shard over the
    mean, and `fits` says whether its memory is within the limit, if there is one.
    """
    lines = [
        title(plan),
        "",
        *aligned(rows_of_tables(plan), left=2),
        "",
        *textwrap.wrap(SHARDS_LEGEND, _COLUMNS),
        "",
        *aligned(rows_of_shards(plan), left=0),
    ]
    if plan.memory_limit is not None:
        lines += ["", limit_text(plan)]
    if plan.times is not None:
        lines += ["", *textwrap.wrap(times_legend(plan), _COLUMNS), ""]
        lines += aligned(rows_of_times(plan), left=0)
    if plan.warnings:
        lines += ["", *(f"Warning: {warning}" for warning in plan.warnings)]
    return "\n".join(lines)


def title(plan: Any) -> str:
    """Returns of what run it is the plan, and from how large a sample."""
    epochs = "" if plan.epochs == 1 else f" in each of {plan.epochs} epochs"
    return (
        f"Plan for {plan.run_steps:,} steps{epochs} of {plan.batch_size:,.0f} "
        f"examples, from a sample of {plan.sample_steps:,} steps"
    )


def limit_text(plan: Any) -> str:
    """Returns how many shards a memory limit needs."""
    limit = f"Memory limit of {given_size_text(plan.memory_limit)} per shard"
    if plan.least_shards is None:
        return f"{limit}: no number of shards fits."
    return f"{limit}: needs {counted_text(plan.least_shards, 'shard')} or more."


def rows_of_tables(plan: Any) -> list[tuple[str, ...]]:
    """Returns the table of a plan's tables: its header and its rows, as texts."""
    rows = [_TABLE_HEADER, *(_of_table(table) for table in plan.tables)]
    if len(plan.tables) > 1:
        rows.append(_of_all(plan))
    return rows


def rows_of_shards(plan: Any) -> list[tuple[str, ...]]:
    """Returns the table of numbers of shards: its header and its rows, as texts."""
    header, rows = _SHARDS_HEADER, [_of_shards(each) for each in plan.shards]
    if plan.memory_limit is None:
        return [header, *rows]
    fits = [_FITS[each.fits] for each in plan.shards]
    return [(*header, "fits"), *((*row, cell) for row, cell in zip(rows, fits))]


def _of_table(table: TablePlan) -> tuple[str, ...]:
    exponent = table.skew.exponent
    return (
        table.name,
        f"{table.dim} {table.row_dtype}",
        f"{table.sampled_ids:,}",
        f"{table.ids.value:,.0f}",
        f"{table.rows.value:,.0f}",
        f"{table.rows.low:,.0f}",
        f"{table.rows.high:,.0f}",
        f"{table.row_bytes:,}",
        size_text(table.bytes.value),
        size_text(table.checkpoint_bytes.value),
        f"{table.skew.hottest_percent:.0%}",
        "-" if exponent is None else f"{exponent:.2f}",
    )


def _of_all(plan: Any) -> tuple[str, ...]:
    def summed(name: str) -> float:
        values = (getattr(table, name) for table in plan.tables)
        return sum(x.value if isinstance(x, Estimate) else x for x in values)

    return (
        *("all", ""),
        f"{summed('sampled_ids'):,}",
        f"{summed('ids'):,.0f}",
        f"{plan.rows.value:,.0f}",
        f"{plan.rows.low:,.0f}",
        f"{plan.rows.high:,.0f}",
        "",
        size_text(plan.bytes.value),
        size_text(summed("checkpoint_bytes")),
        *("", ""),
    )


def _of_shards(each: ShardsPlan) -> tuple[str, ...]:
    return (
        f"{each.shards:,}",
        f"{each.requests:,.1f}",
        size_text(each.bytes_out),
        size_text(each.bytes_in),
        size_text(each.bytes.value),
        size_text(each.busiest_shard_bytes.value),
        size_text(each.checkpoint_bytes.value),
        f"{each.busiest_rows:.2f}",
        f"{each.busiest_ids:.2f}",
        f"{each.busiest_bytes:.2f}",
    )
