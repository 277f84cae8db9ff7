"""Shows a plan as a page: one HTML file, which loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Any

from persia_tf.base.amounts import count_text, size_text
from persia_tf.base.chart import Axis, Line, chart
from persia_tf.base.page import page_html
from persia_tf.base.tables import table_html
from persia_tf.planning.parts import ShardsPlan, TablePlan
from persia_tf.planning.text import (
    SHARDS_LEGEND,
    limit_text,
    rows_of_shards,
    rows_of_tables,
    title,
)
from persia_tf.planning.time_text import rows_of_times, times_legend

_MOST_OVER_MEMORY = 2.0

_BODY = Template("""\
$warnings
<h2>Tables</h2>
<div class="wide">$tables</div>
<h2>Numbers of shards</h2>
<p>$legend</p>
<div class="wide">$shards</div>
$limit
$memory
$times
<h2>Distinct ids</h2>
<p>The distinct ids that each table has met after so many steps of an epoch: as the
sample has them (solid), and as predicted (dashed), with the interval that holds their
number in about 19 of 20 cases, if the sample has a tenth of the run's steps or
more.</p>
$growth
<h2>Hit rates</h2>
<p>The part of the ids of lookups that would be answered by a copy of so many rows, if
these are always the hottest ones. One half of the sample says which are the hottest for
the other half, so ids that only one half has are not answered: with many rows, a longer
run has a higher rate.</p>
$hit_rates""")


def plan_page(plan: Any) -> str:
    """Returns a plan as HTML."""
    body = _BODY.substitute(
        warnings="\n".join(
            f'<p class="warning">Warning: {escape(each)}</p>' for each in plan.warnings
        ),
        tables=table_html(rows_of_tables(plan), texts=2),
        legend=escape(SHARDS_LEGEND),
        shards=table_html(rows_of_shards(plan), texts=0),
        limit=(
            "" if plan.memory_limit is None else f"<p>{escape(limit_text(plan))}</p>"
        ),
        memory=_memory_chart(plan.shards, plan.memory_limit),
        times="" if plan.times is None else _times(plan),
        growth=_joined(_growth_chart(each, plan.sample_steps) for each in plan.tables),
        hit_rates=_joined(
            _hit_rate_chart(each) for each in plan.tables if each.skew.hit_rates
        ),
    )
    return page_html(title(plan), body)


def _times(plan: Any) -> str:
    return (
        f"<h2>Times</h2>\n<p>{escape(times_legend(plan))}</p>\n"
        f'<div class="wide">{table_html(rows_of_times(plan), texts=0)}</div>'
    )


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(parts)


def _growth_chart(table: TablePlan, sample_steps: int) -> str:
    counted = [each for each in table.growth if each.steps <= sample_steps]
    predicted = [each for each in table.growth if each.steps > sample_steps]
    beyond = [*counted[-1:], *predicted]
    lines = [Line([(each.steps, each.ids.value) for each in counted])]
    if predicted:
        points = [(each.steps, each.ids.value) for each in beyond]
        lines.append(Line(points, "orange", dashed=True))
    return chart(
        table.name,
        Axis("steps of an epoch", count_text),
        Axis("distinct ids", count_text),
        lines,
        [(each.steps, each.ids.low, each.ids.high) for each in beyond],
    )


def _hit_rate_chart(table: TablePlan) -> str:
    return chart(
        table.name,
        Axis("rows that are kept", count_text, is_logarithmic=True),
        Axis("hit rate", lambda part: f"{part:.0%}"),
        [Line(table.skew.hit_rates, dots=True)],
        top=1.0,
    )


def _memory_chart(shards: Sequence[ShardsPlan], limit: int | None) -> str:
    rising = sorted(shards, key=lambda each: each.shards)
    numbers = [each.shards for each in rising]
    if len(set(numbers)) < 2:
        return ""  # One number is in the table.
    memory = [(each.shards, each.busiest_shard_bytes) for each in rising]
    lines = [Line([(number, each.value) for number, each in memory], dots=True)]
    highest = max(each.high for _, each in memory)
    # A limit that is far above would press the line of the memory to the ground.
    shows_limit = limit is not None and limit <= _MOST_OVER_MEMORY * highest
    if shows_limit:
        ends = [(number, limit) for number in (numbers[0], numbers[-1])]
        lines.append(Line(ends, "orange", dashed=True))
    return chart(
        "Memory of the busiest shard" + (", and its limit" if shows_limit else ""),
        Axis("shards", count_text, is_logarithmic=True, ticks=numbers),
        Axis("memory", size_text),
        lines,
        [(number, each.low, each.high) for number, each in memory],
    )
