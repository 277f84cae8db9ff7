"""Metric families, as Prometheus's own parser reads them."""

import prometheus_client
from prometheus_client import core
from prometheus_client.parser import text_string_to_metric_families

from persia_tf.monitoring.families import Metric, add_histogram, families, gauge


class Told:
    def __init__(self, *told):
        self.told = told

    def collect(self):
        return self.told


def samples(*told):
    registry = prometheus_client.CollectorRegistry()
    registry.register(Told(*told))
    text = prometheus_client.generate_latest(registry).decode()
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_counters_end_with_total_and_gauges_do_not():
    metrics = [Metric("a", "first", "A."), gauge("b", "second", "B.", scale=0.5)]
    assert samples(*families(metrics, [({}, {"a": 3, "b": 4})])) == {
        ("first_total",): 3.0,
        ("second",): 2.0,
    }


def test_each_entry_is_a_sample_with_its_labels():
    told = families(
        [gauge("rows", "rows", "Rows.")],
        [({"table": 'a"b'}, {"rows": 1}), ({"table": "c\nd"}, {"rows": 2})],
        ["table"],
    )
    assert samples(*told) == {
        ("rows", ("table", 'a"b')): 1.0,
        ("rows", ("table", "c\nd")): 2.0,
    }


def test_a_histograms_buckets_are_cumulative():
    family = core.HistogramMetricFamily("seconds", "Time.", labels=["request"])
    add_histogram(family, ["lookup"], [0.5, 1.0, float("inf")], [3, 0, 2], 9.5)
    request = ("request", "lookup")
    assert samples(family) == {
        ("seconds_bucket", ("le", "0.5"), request): 3.0,
        ("seconds_bucket", ("le", "1.0"), request): 3.0,
        ("seconds_bucket", ("le", "+Inf"), request): 5.0,
        ("seconds_count", request): 5.0,
        ("seconds_sum", request): 9.5,
    }
