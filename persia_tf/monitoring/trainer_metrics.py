"""The metrics of a program that trains: those of `ptf.metrics()`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from persia_tf.monitoring.families import Metric, add_histogram, families, gauge

TRAINER = (
    Metric(
        "lookup_requests",
        "persia_trainer_lookup_requests",
        "Fused lookup requests, each of which goes to every shard with rows of it.",
    ),
    Metric(
        "training_lookups", "persia_trainer_training_lookups", "Lookups for training."
    ),
    Metric(
        "readonly_lookups", "persia_trainer_readonly_lookups", "Lookups for reading."
    ),
    Metric(
        "prefetch_hits",
        "persia_trainer_prefetch_hits",
        "Lookups whose rows were prefetched.",
    ),
    Metric(
        "prefetch_stale",
        "persia_trainer_prefetch_stale",
        "Lookups whose prefetched rows were too stale, and were looked up again.",
    ),
    Metric(
        "prefetch_dropped",
        "persia_trainer_prefetch_dropped",
        "Prefetched batches that no step used.",
    ),
    Metric(
        "lookup_waits",
        "persia_trainer_lookup_waits",
        "Lookups that had to wait for rows.",
    ),
    Metric(
        "lookup_wait_seconds",
        "persia_trainer_lookup_wait_seconds",
        "Time for which lookups waited for rows.",
    ),
    Metric(
        "committed",
        "persia_trainer_commits",
        "How often an optimizer's step committed a layer's gradients.",
    ),
    Metric("updates", "persia_trainer_updates", "Updates that shards acknowledged."),
    gauge(
        "updates_pending",
        "persia_trainer_pending_updates",
        "Updates that are queued or in flight.",
    ),
    gauge(
        "batches_registered",
        "persia_trainer_prefetched_batches",
        "Prefetched batches that wait for their step.",
    ),
    Metric(
        "gradients_discarded",
        "persia_trainer_discarded_gradients",
        "Gradients of steps that were skipped.",
    ),
    Metric(
        "gradients_nonfinite",
        "persia_trainer_nonfinite_gradients",
        "Rows that shards skipped because of a gradient that is not finite.",
    ),
    Metric(
        "gradients_absent",
        "persia_trainer_absent_gradients",
        "Rows that shards skipped because the id has no row.",
    ),
    Metric("bytes_out", "persia_trainer_sent_bytes", "Bytes sent to shards."),
    Metric("bytes_in", "persia_trainer_received_bytes", "Bytes received from shards."),
    Metric("requests", "persia_trainer_requests", "Requests to shards."),
    Metric("retries", "persia_trainer_retries", "Requests sent again."),
    Metric(
        "reconnects",
        "persia_trainer_reconnects",
        "Connections to shards, after the first to each.",
    ),
    Metric(
        "hot_row_hits",
        "persia_trainer_hot_row_hits",
        "Rows read from copies in the program.",
    ),
    Metric(
        "hot_row_misses",
        "persia_trainer_hot_row_misses",
        "Rows of tables with copies that were not read from copies.",
    ),
    gauge(
        "feedback_ids",
        "persia_trainer_feedback_ids",
        "Ids for which the program keeps what int4 lost of their gradients.",
    ),
    Metric(
        "feedback_dropped",
        "persia_trainer_feedback_dropped",
        "Residuals that had to make room for those of other ids.",
    ),
)

_STALENESS = (
    "persia_trainer_staleness_steps",
    "How many steps were missing from the rows of training batches.",
)
_STALENESS_BOUNDS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 63)


class TrainerMetrics:
    """A Prometheus collector of `ptf.metrics()`.

    Args:
        read: A function that returns what `ptf.metrics()` returns.
    """

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Any]:
        """Yields the metric families, read now."""
        values = self._read()
        yield from families(TRAINER, [({}, values)])
        yield _staleness(values["staleness_histogram"])


def _staleness(batches: list[int]) -> Any:
    """Returns the histogram of staleness, with the bounds `_STALENESS_BOUNDS`."""
    from prometheus_client import core

    family = core.HistogramMetricFamily(*_STALENESS)
    bounds = [*map(float, _STALENESS_BOUNDS), float("inf")]
    counts = [0] * len(bounds)
    for staleness, count in enumerate(batches):
        bucket = next(b for b, bound in enumerate(bounds) if staleness <= bound)
        counts[bucket] += count
    total = sum(staleness * count for staleness, count in enumerate(batches))
    add_histogram(family, [], bounds, counts, float(total))
    return family
