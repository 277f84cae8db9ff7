"""`ptf.metrics`: counters of the traffic between this program and its shards."""

from __future__ import annotations

from typing import Any

from persia_tf import session as session_lib
from persia_tf.session import Session

# The core's counters that are combined over sessions by maximum, not by sum.
_MAXIMA = ("staleness_last", "staleness_max")


def metrics() -> dict[str, Any]:
    """Returns counters of this program's lookups and updates since it started.

    Example:

    >>> model.fit(ptf.data.prefetch(train, model, staleness=8))
    >>> ptf.metrics()["staleness_max"]
    8

    Returns:
        A dict of numbers, over all clusters of the program:

        - `staleness_last`, `staleness_max`: how many steps of this program were
          missing from the rows of the newest training batch, and the maximum over all
          training batches;
        - `staleness_histogram`: how many training batches had a staleness of 0,
          1, 2, ... up to the largest that occurred (the entry 64 counts all from 64
          up). A prefetched batch counts once, and so does the batch of each replica.
          A batch without prefetching counts once per request that its lookups are
          sent in. That is one request, unless the lookups depend on each other (ids
          that are computed from rows), or come more than a millisecond apart while the
          program has not yet learned how many lookups a step has;
        - `lookup_requests`: fused lookup requests, each of which goes to every shard
          that has one of its rows; `training_lookups`, `readonly_lookups`: lookups of
          layers;
        - `prefetch_hits`: lookups whose rows were prefetched; `prefetch_stale`: lookups
          whose prefetched rows were too stale and were looked up again;
          `prefetch_dropped`: prefetched batches that no step used;
        - `lookup_waits`, `lookup_wait_seconds`: lookups that had to wait for rows,
          and the total time of these waits;
        - `updates`: acknowledged updates; `updates_pending`: updates that are now
          queued or in flight; `batches_registered`: prefetched batches that now wait
          for their step;
        - `gradients_discarded`: gradients of steps that were skipped;
          `gradients_nonfinite`, `gradients_absent`: rows that shards skipped because
          of a gradient that is not finite, or because the id has no row;
        - `bytes_out`, `bytes_in`, `requests`, `retries`, `reconnects`: counters of the
          connections to shards; 0 for embedded stores;
        - `hot_row_hits`, `hot_row_misses`: for tables with hot rows, how many rows
          were read from copies in this process, and how many were not.
    """
    sessions = session_lib.open_sessions()
    total = _total(sessions)
    return {
        "staleness_last": total["staleness_last"],
        "staleness_max": total["staleness_max"],
        "staleness_histogram": _histogram(sessions),
        "lookup_requests": total["requests"],
        "training_lookups": total["training_lookups"],
        "readonly_lookups": total["readonly_lookups"],
        "prefetch_hits": total["prefetched"],
        "prefetch_stale": total["stale"],
        "prefetch_dropped": total["dropped"],
        "lookup_waits": total["waits"],
        "lookup_wait_seconds": total["wait_nanoseconds"] / 1e9,
        "updates": total["pushed"],
        "updates_pending": total["unacknowledged"],
        "batches_registered": total["registered"],
        "gradients_discarded": total["discarded"],
        "gradients_nonfinite": total["nonfinite"],
        "gradients_absent": total["absent"],
        "bytes_out": total["bytes_out"],
        "bytes_in": total["bytes_in"],
        "requests": total["sent_requests"],
        "retries": total["retries"],
        "reconnects": total["reconnects"],
        "hot_row_hits": total["hot_hits"],
        "hot_row_misses": total["hot_misses"],
    }


def _total(sessions: list[Session]) -> dict[str, int]:
    names = [name for name, *_ in session_lib.COUNTERS]
    total = dict.fromkeys(names, 0)
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
