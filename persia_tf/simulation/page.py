"""Shows the report of a simulation as a page, which loads nothing from elsewhere."""

from __future__ import annotations

from html import escape
from string import Template
from typing import Any

from persia_tf.base.page import page_html
from persia_tf.base.tables import table_html
from persia_tf.simulation.text import (
    HEADROOM_LEGEND,
    SENSITIVITY_LEGEND,
    bound_text,
    first_text,
    provenance,
    rows_of_busy,
    rows_of_limits,
    rows_of_sensitivity,
    rows_of_throughput,
    rows_of_times,
    rows_of_values,
)
from persia_tf.simulation.tornado import tornado

_BODY = Template("""\
<p>$provenance</p>
<h2>Throughput</h2>
<div class="wide">$throughput</div>
$bound
<h2>Times</h2>
<div class="wide">$times</div>
<h2>What is busy</h2>
<div class="wide">$busy</div>
<h2>What breaks first</h2>
<p class="warning">$first</p>
<p>$headroom_legend</p>
<div class="wide">$limits</div>
$sensitivity
<h2>Values and their sources</h2>
<div class="wide">$values</div>""")

_SENSITIVITY = Template("""\
<h2>Sensitivity</h2>
<p>$legend</p>
$plot
<div class="wide">$table</div>
""")


def report_page(report: Any) -> str:
    """Returns a report as HTML."""
    bound = bound_text(report)
    body = _BODY.substitute(
        provenance=escape(provenance(report)),
        throughput=table_html(rows_of_throughput(report), texts=1),
        bound="" if not bound else f"<p>{escape(bound)}</p>",
        times=table_html(rows_of_times(report), texts=1),
        busy=table_html(rows_of_busy(report), texts=1),
        first=escape(first_text(report)),
        headroom_legend=escape(HEADROOM_LEGEND),
        limits=_limits(report),
        sensitivity=_sensitivity(report),
        values=table_html(rows_of_values(report), texts=4),
    )
    return page_html(report.title, body)


def _limits(report: Any) -> str:
    """Returns the table of limits, with their sources and what would have to change."""
    header, *rows = rows_of_limits(report)
    name, *numbers = header
    texts = [(name, "from", "what would have to change", *numbers)]
    for limit, (name, *numbers) in zip(report.limits, rows):
        texts.append((name, limit.source, limit.remedy, *numbers))
    return table_html(texts, texts=3)


def _sensitivity(report: Any) -> str:
    if report.sensitivity is None:
        return ""
    return _SENSITIVITY.substitute(
        legend=escape(SENSITIVITY_LEGEND),
        plot=tornado("Sensitivity of the throughput", report.sensitivity),
        table=table_html(rows_of_sensitivity(report.sensitivity), texts=1),
    )
