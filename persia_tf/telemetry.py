"""What passed between this program and its shards, in numbers."""

from __future__ import annotations

from typing import Any

from persia_tf import session as session_lib
from persia_tf.session import Session

# Of the core's counters: those that are not sums over sessions.
_MAXIMA = ("staleness_last", "staleness_max")


def metrics() -> dict[str, Any]:
    """Returns counters of this program's lookups and updates since it began.

    Example:

    >>> model.fit(ptf.data.prefetch(train, model, staleness=8))
    >>> ptf.metrics()["staleness_max"]
    8

    Returns:
        A dict of numbers, over all clusters of the program:

        - `staleness_last`, `staleness_max`: how many steps of this program were
          missing from the rows of the newest training batch, and of any;
        - `staleness_histogram`: how many training batches had a staleness of 0,
          1, 2, ... up to the most that occurred (64: that, or more). What counts
          is what is asked for together: a batch that was prefetched counts once,
          and each replica's is one of its own; another once for each request that
          its lookups leave in. That is one, unless they come one after the other
          (ids that are computed from rows), or more than a millisecond apart
          before the program has learned how many come;
        - `lookup_requests`: fused requests, each to every shard that has a row of
          it; `training_lookups`, `readonly_lookups`: layers' lookups;
        - `prefetch_hits`: lookups that found what was sent ahead;
          `prefetch_stale`: lookups whose prefetched rows were too old, and were
          asked for anew; `prefetch_dropped`: batches that were registered, and
          that no step took;
        - `lookup_waits`, `lookup_wait_seconds`: lookups that had to wait for rows,
          and for how long in all;
        - `updates`: updates that were acknowledged; `updates_pending`: those that
          are queued or on their way now; `batches_registered`: prefetched batches
          that wait for their step now;
        - `gradients_discarded`: staged by a step that was skipped;
          `gradients_nonfinite`, `gradients_absent`: rows that shards skipped;
        - `bytes_out`, `bytes_in`, `requests`, `retries`, `reconnects`: of the
          connections to shards; 0 for the store in this process;
        - `hot_row_hits`, `hot_row_misses`: rows that came from copies in this
          process, and rows of tables with copies that did not.
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
