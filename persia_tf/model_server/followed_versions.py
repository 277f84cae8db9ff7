"""Keeps the versions of a model up to date with training while they serve."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)

from persia_tf import errors
from persia_tf.cluster import Cluster
from persia_tf.model_server.loading import Loaded
from persia_tf.serving.follower import Follower, FollowerStatus

# The interval between checks of whether a new version is up to date, in seconds.
_LOOK_SECONDS = 0.05

_logger = logging.getLogger("persia.serve")


class Following:
    """Keeps each version of a served model up to date with the shards that train it.

    Pass this object to one `ModelServer`, as a watcher. Each version starts to follow
    the shards before its first request. A version that is not up to date within
    `current_seconds` serves anyway, with the rows that it has by then.

    Example:

    ```python
    following = ptf.model_server.Following(ptf.Cluster(["10.0.0.1:7000"]))
    with ptf.model_server.ModelServer("serving/ranking", watchers=[following]):
        ...
    ```

    Args:
        cluster: The cluster that trains the model.
        poll_seconds: The pause between polls of a shard: see `ptf.serving.Follower`.
            Defaults to 0.1.
        current_seconds: How long a new version may wait to be up to date before it
            serves anyway. Defaults to 60.
    """

    def __init__(
        self, cluster: Cluster, poll_seconds: float = 0.1, current_seconds: float = 60.0
    ) -> None:
        self._cluster = cluster
        self._poll_seconds = poll_seconds
        self._current_seconds = current_seconds
        self._followers: dict[Loaded, Follower] = {}
        self._stopping = threading.Event()

    def followers(self) -> list[Follower]:
        """Returns the followers of all versions that serve or are about to serve."""
        return list(self._followers.values())

    def status(self) -> dict[int, FollowerStatus]:
        """Returns the status of each version's follower, by version."""
        followers = list(self._followers.items())
        return {loaded.version: each.status for loaded, each in followers}

    def collect(self) -> Iterator[Metric]:
        """Returns the followers' metrics for Prometheus."""
        labels = ["version", "shard"]
        name = "persia_serve_follow"
        rows = CounterMetricFamily(f"{name}_rows", "Rows set.", labels=labels)
        erased = CounterMetricFamily(f"{name}_erased", "Rows erased.", labels=labels)
        failures = CounterMetricFamily(
            f"{name}_failures",
            "Failed attempts to get a shard's changes.",
            labels=labels,
        )
        behind = GaugeMetricFamily(
            f"{name}_seconds_behind",
            "Staleness of the version's rows, in seconds.",
            labels=["version"],
        )
        for version, status in self.status().items():
            for shard in status.shards:
                place = [str(version), shard.shard]
                rows.add_metric(place, shard.rows)
                erased.add_metric(place, shard.erased)
                failures.add_metric(place, shard.failures)
            if status.seconds_behind is not None:
                behind.add_metric([str(version)], status.seconds_behind)
        yield from (rows, erased, failures, behind)

    def started(self, loaded: Loaded) -> None:
        """Starts a version's follower, and waits until the version is up to date.

        Stops waiting after `current_seconds`, or when `stopping` is called.
        """
        try:
            follower = Follower(
                loaded.saved_model, self._cluster, poll_seconds=self._poll_seconds
            )
        except ValueError as error:
            raise errors.FailedPreconditionError(
                f"{loaded.path} cannot follow training: {error}"
            ) from error
        self._followers[loaded] = follower
        try:
            self._wait_until_current(loaded.version, follower)
        except BaseException:
            self.ended(loaded)
            raise

    def stopping(self) -> None:
        """Makes `started` return at once, since no further version will serve."""
        self._stopping.set()

    def ended(self, loaded: Loaded) -> None:
        """Closes the follower of a version, if it has one."""
        follower = self._followers.pop(loaded, None)
        if follower is not None:
            follower.close()

    def _wait_until_current(self, version: int, follower: Follower) -> None:
        """Waits until a version is up to date.

        Stops waiting after `current_seconds`, or when `stopping` is called.
        """
        began = time.monotonic()
        while True:
            status = follower.status
            waited = time.monotonic() - began
            if status.seconds_behind is not None:
                _logger.info("Version %d is up to date after %.1f s", version, waited)
                return
            if waited >= self._current_seconds:
                _logger.warning(
                    "Version %d serves before it is up to date, after %.1f s: %s",
                    *(version, waited, _late(status)),
                )
                return
            if self._stopping.wait(_LOOK_SECONDS):
                return


def _late(status: FollowerStatus) -> str:
    """Returns the reason why a version is not up to date."""
    if not status.shards:
        return f"no shard was reached: {status.error}"
    late = next(shard for shard in status.shards if shard.current_at is None)
    reason = f": {late.error}" if late.error else ""
    return f"shard {late.shard} did not send all of its changes{reason}"
