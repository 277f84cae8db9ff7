"""`ptf.metrics`: counters of the traffic between this program and its shards."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from persia_tf.base.addresses import METRICS_PORT_VARIABLE
from persia_tf.client import session as session_lib

if TYPE_CHECKING:
    from persia_tf.credentials.tls import TLS
    from persia_tf.monitoring.trainer_endpoint import SharedEndpoint


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
        - `hot_row_misses`: for these tables, how many rows were not read from copies;
        - `feedback_ids`: with `wire_dtype="int4"`, for how many ids this program now
          keeps what the encoding of their gradients lost;
        - `feedback_dropped`: how many of these had to make room for other ids.
    """
    totals = session_lib.totals()
    histogram = totals.staleness
    while histogram and histogram[-1] == 0:
        histogram.pop()
    numbers: dict[str, Any] = {**totals.counters, "staleness_histogram": histogram}
    numbers["lookup_wait_seconds"] = numbers.pop("lookup_wait_nanoseconds") / 1e9
    return numbers


def serve(
    port: int | None = None, host: str | None = None, tls: TLS | None = None
) -> SharedEndpoint:
    """Serves the numbers of `ptf.metrics()` to Prometheus; called `ptf.metrics.serve`.

    Prometheus reads them over HTTP, at `/metrics`. The endpoint runs in threads of its
    own until the program ends, or until its `close`. If `$PERSIA_METRICS_PORT` is set,
    a program that opens a session with its shards serves its metrics without this
    call, and tells the URL on stderr.

    If this program serves its metrics on the same address already, the calls share one
    endpoint, which serves until the last `close`.

    Needs `pip install 'persia_tf[metrics]'`.

    Example:

    >>> endpoint = ptf.metrics.serve(port=9400)
    >>> endpoint.url
    'http://127.0.0.1:9400/metrics'

    Args:
        port: The port to listen on; 0 means any free port. Defaults to
            `$PERSIA_METRICS_PORT`, else to 9400.
        host: The name or address to listen on. Defaults to `$PERSIA_METRICS_HOST`,
            else to `"127.0.0.1"`, which only this machine reaches.
        tls: A `ptf.TLS`, whose certificate the endpoint presents over HTTPS. Clients
            need none. Defaults to None: HTTP.

    Returns:
        The endpoint, with the attributes `url` and `address` and the method `close`.

    Raises:
        TypeError: If an argument has another type.
        ValueError: If `port` is not from 0 to 65535.
        FailedPreconditionError: If prometheus_client is not installed.
        UnavailableError: If another program uses the port, or the host is none of this
            machine. (A port of `$PERSIA_METRICS_PORT` that is taken is only a warning
            in the log of a program without this call.)
    """
    from persia_tf.monitoring import trainer_endpoint

    return trainer_endpoint.serve(metrics, port, host, tls)


metrics.serve = serve  # type: ignore[attr-defined]


def serve_if_wanted() -> None:
    """Starts `serve` once per process if `$PERSIA_METRICS_PORT` is set."""
    if not os.environ.get(METRICS_PORT_VARIABLE):
        return
    from persia_tf.monitoring import trainer_endpoint

    trainer_endpoint.serve_if_wanted(metrics)
