"""Turns counters into Prometheus's metric families."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Metric(NamedTuple):
    """How one counter is reported.

    Attributes:
        source: The counter's name in the statistics.
        name: The metric's name, without the suffix `_total`.
        help: What the metric counts; units included.
        is_gauge: Whether the value may fall. If not, it is a counter, and Prometheus's
            name ends with `_total`.
        scale: The factor by which the counter is multiplied.
    """

    source: str
    name: str
    help: str
    is_gauge: bool = False
    scale: float = 1.0

    def family(self, labels: Sequence[str] = ()) -> Any:
        """Returns an empty family, to which samples are added."""
        from prometheus_client import core

        kind = core.GaugeMetricFamily if self.is_gauge else core.CounterMetricFamily
        return kind(self.name, self.help, labels=labels)


def gauge(source: str, name: str, text: str, scale: float = 1.0) -> Metric:
    """Returns a `Metric` whose value may fall."""
    return Metric(source, name, text, is_gauge=True, scale=scale)


def families(
    metrics: Iterable[Metric],
    values: Iterable[tuple[Mapping[str, str], Mapping[str, Any]]],
    labels: Sequence[str] = (),
) -> Iterable[Any]:
    """Yields a family per metric, with one sample per entry of `values`.

    Args:
        metrics: The metrics.
        values: Pairs of a sample's labels and its statistics, by name.
        labels: The names of the labels.
    """
    values = list(values)
    for metric in metrics:
        family = metric.family(labels)
        for of_sample, statistics in values:
            family.add_metric(
                [of_sample[label] for label in labels],
                statistics[metric.source] * metric.scale,
            )
        yield family


def add_histogram(
    family: Any,
    labels: Sequence[str],
    bounds: Sequence[float],
    counts: Sequence[int],
    total: float,
) -> None:
    """Adds a histogram to a `HistogramMetricFamily`.

    Args:
        family: The family.
        labels: The values of the labels.
        bounds: The upper bound of each bucket; the last one is infinite.
        counts: How many values each bucket has, without those of lower buckets.
        total: The sum of all values.
    """
    so_far, buckets = 0, []
    for bound, count in zip(bounds, counts):
        so_far += count
        text = "+Inf" if math.isinf(bound) else repr(float(bound))
        buckets.append((text, so_far))
    family.add_metric(labels, buckets, total)
