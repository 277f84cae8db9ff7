"""`ptf.metrics`: counters of the traffic between this program and its shards."""

from __future__ import annotations

from typing import Any

from persia_tf.client import session as session_lib
from persia_tf.client.session import Session

# For these counters, the maximum over sessions is returned, not the sum.
_MAXIMA = ("staleness_last", "staleness_max")


def metrics() -> dict[str, Any]:
    """Returns counters of this program's lookups and updates since it started.

    Example:

    >>> model.fit(ptf.data.prefetch(train, model, staleness=8))
    >>> ptf.metrics()["staleness_max"]
    8

    Returns:
        A dict of numbers, over all clusters of the program:

        - `staleness_last`: how many steps of this program were missing from the rows of
          the newest training batch;
        - `staleness_max`: the maximum of this number over all training batches;
        - `staleness_histogram`: how many training batches had a staleness of 0, 1, 2,
          ... up to the largest that occurred (entry 64 counts all batches with a
          staleness of 64 or more). A prefetched batch counts once, and so does the
          batch of each replica. Without prefetching, a batch counts once per request
          that carries its lookups. Most batches need one request. They need several if
          the lookups depend on each other (ids that are computed from rows), or come
          more than a millisecond apart while the program has not yet learned how many
          lookups a step has;
        - `lookup_requests`: fused lookup requests, each of which goes to every shard
          that has one of its rows;
        - `training_lookups`, `readonly_lookups`: lookups of layers;
        - `prefetch_hits`: lookups whose rows were prefetched;
        - `prefetch_stale`: lookups whose prefetched rows were too stale and were looked
          up again;
        - `prefetch_dropped`: prefetched batches that no step used;
        - `lookup_waits`: lookups that had to wait for rows;
        - `lookup_wait_seconds`: the total time of these waits;
        - `committed`: how often an optimizer's step committed a layer's gradients;
        - `updates`: acknowledged updates;
        - `updates_pending`: updates that are now queued or in flight;
        - `batches_registered`: prefetched batches that now wait for their step;
        - `gradients_discarded`: gradients of steps that were skipped;
        - `gradients_nonfinite`: rows that shards skipped because of a gradient that is
          not finite;
        - `gradients_absent`: rows that shards skipped because the id has no row;
        - `bytes_out`, `bytes_in`, `requests`, `retries`, `reconnects`: counters of the
          connections to shards; 0 for embedded stores;
        - `hot_row_hits`: for tables with hot rows, how many rows were read from copies
          in this process;
        - `hot_row_misses`: for these tables, how many rows were not read from copies.
    """
    sessions = session_lib.open_sessions()
    total = {**_total(sessions), "staleness_histogram": _histogram(sessions)}
    total["lookup_wait_seconds"] = total.pop("lookup_wait_nanoseconds") / 1e9
    return total


def _total(sessions: list[Session]) -> dict[str, Any]:
    total = session_lib.counters_of()
    for session in sessions:
        for name, value in session.counters().items():
            if name in _MAXIMA:
                total[name] = max(total[name], value)
            else:
                total[name] += value
    return total


def _histogram(sessions: list[Session]) -> list[int]:
    bins = [sum(same) for same in zip(*(s.staleness_histogram() for s in sessions))]
    while bins and bins[-1] == 0:
        bins.pop()
    return bins
