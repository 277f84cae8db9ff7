"""Writes the tables of metrics in docs/metrics.md.

    python tools/metrics_page.py

The tables are generated from what the processes report. A test fails if the page is not
up to date.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import prometheus_client
from prometheus_client import Metric
from prometheus_client.metrics import MetricWrapperBase

from persia_tf import stats, telemetry
from persia_tf.model_server.followed_versions import Following
from persia_tf.model_server.metrics import Metrics
from persia_tf.monitoring.server_metrics import ServerMetrics
from persia_tf.monitoring.trainer_metrics import TrainerMetrics

# Not resolved: a sandbox accesses the sources through symbolic links.
PAGE = Path(os.path.abspath(__file__)).parents[1] / "docs" / "metrics.md"

_SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}

_ROLES = ("shard", "replica", "worker")


class Documented(NamedTuple):
    """A metric as the page describes it.

    Attributes:
        name: The metric's name; for a counter, with `_total`.
        kind: "counter", "gauge", "histogram" or "info".
        labels: Its labels, except for a histogram's `le`.
        text: What it is.
        roles: Which processes report it.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str
    roles: tuple[str, ...]

    def samples(self) -> set[str]:
        """Returns the names of the metric's series."""
        if self.kind == "histogram":
            return {self.name + suffix for suffix in _SUFFIXES["histogram"]}
        return {self.name}


def groups() -> dict[str, list[Documented]]:
    """Returns all metrics, by the kind of process that reports them."""
    servers: dict[str, Documented] = {}
    for role in _ROLES:
        for metric in _documented(_server(role), role):
            known = servers.get(metric.name, metric)
            roles = tuple(dict.fromkeys((*known.roles, role)))
            servers[metric.name] = known._replace(roles=roles)
    process = prometheus_client.ProcessCollector(registry=None).collect()
    trainer = TrainerMetrics(telemetry.metrics).collect()
    served = [*_of_model_server(), *Following(cluster=None).collect()]
    return {
        "servers": list(servers.values()),
        "trainers": list(_documented(trainer)),
        "model servers": list(_documented(served)),
        "processes": list(_documented(process)),
    }


def page() -> str:
    """Returns the page's text, with the tables in it."""
    text = PAGE.read_text()
    for name, metrics in groups().items():
        start, end = f"<!-- metrics of {name} -->\n", f"<!-- end of {name} -->"
        table = "\n".join(_table(metrics, with_roles=name == "servers"))
        pattern = re.escape(start) + ".*?" + re.escape(end)
        replaced = f"{start}\n{table}\n\n{end}"
        text, count = re.subn(pattern, lambda _, new=replaced: new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"{PAGE} must have {start.strip()} and {end} once")
    return text


def _server(role: str) -> Iterable[Metric]:
    """Returns the metrics of a server that has one of everything."""
    buckets = (0,) * len(stats.bucket_bounds())
    process = _zeros(
        stats.ProcessStats,
        tables=(_zeros(stats.TableStats),),
        requests=(_zeros(stats.RequestStats, buckets=buckets),),
        trainers=() if role == "worker" else (_zeros(stats.TrainerStats),),
        source="host:1" if role == "replica" else "",
        behind_seconds=0.0,
        role=role,
    )
    folders = {"recovery": "."} if role == "shard" else {}
    return ServerMetrics(lambda: process, lambda: True, folders, 0).collect()


def _of_model_server() -> Iterator[Metric]:
    for collector in vars(Metrics()).values():
        if isinstance(collector, MetricWrapperBase):
            [metric] = collector.collect()
            metric._labelnames = collector._labelnames
            yield metric


def _zeros(kind: type[Any], **values: Any) -> Any:
    return kind(**{**{field.name: 0 for field in dataclasses.fields(kind)}, **values})


def _documented(metrics: Iterable[Metric], *roles: str) -> Iterator[Documented]:
    for metric in metrics:
        if roles and not metric.samples:
            continue  # Servers of this role have nothing to report.
        of_samples = [label for sample in metric.samples for label in sample.labels]
        labels = dict.fromkeys(of_samples or getattr(metric, "_labelnames", ()))
        labels.pop("le", None)
        suffix = {"counter": "_total", "info": "_info"}.get(metric.type, "")
        yield Documented(
            metric.name + suffix,
            metric.type,
            tuple(labels),
            metric.documentation,
            roles,
        )


def _table(metrics: Iterable[Documented], with_roles: bool) -> Iterator[str]:
    yield "| metric | type | labels | what it is |" + with_roles * " reported by |"
    yield "|---|---|---|---|" + with_roles * "---|"
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        cells = [f"`{metric.name}`", metric.kind, labels, metric.text]
        if with_roles:
            every = metric.roles == _ROLES
            cells.append("all" if every else ", ".join(metric.roles))
        yield "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page())
