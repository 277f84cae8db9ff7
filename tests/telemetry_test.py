"""`ptf.metrics` and the core's counters have the same names."""

import dataclasses

from persia_tf import stats, telemetry
from persia_tf.client import session
from persia_tf.serving import remote_clients


def test_metrics_are_the_counters_of_the_core():
    assert {
        name.replace("_nanoseconds", "_seconds") for name in session.counters_of()
    } | {"staleness_histogram"} == set(telemetry.metrics())


def test_each_metric_is_documented():
    text = telemetry.metrics.__doc__
    assert [name for name in telemetry.metrics() if f"`{name}`" not in text] == []


def test_each_field_of_the_counters_is_documented():
    for kind in (stats.TableStats, stats.ProcessStats, remote_clients.RemoteStats):
        names = [field.name for field in dataclasses.fields(kind)]
        assert [
            name for name in names if f"\n        {name}: " not in kind.__doc__
        ] == []
