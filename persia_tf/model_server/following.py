"""Versions that follow training while they serve."""

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

# How often it looks whether a version is current.
_LOOK_SECONDS = 0.05

_logger = logging.getLogger("persia.serve")


class Following:
    """Has each version of a model follow shards, from before its first request on.

    A watcher of one `ModelServer`. A version that is not current in time serves all the
    same, with the rows that it has by then.

    Example:

    ```python
    following = ptf.model_server.Following(ptf.Cluster(["10.0.0.1:7000"]))
    with ptf.model_server.ModelServer("serving/ranking", watchers=[following]):
        ...
    ```

    Args:
        cluster: The shards that train.
        poll_seconds: As for `ptf.serving.Follower`.
        current_seconds: How long a version waits to be current. Defaults to 60.
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
        """Returns the follower of each version that serves, or is about to."""
        return list(self._followers.values())

    def status(self) -> dict[int, FollowerStatus]:
        """Returns how far the follower of each version has come."""
        followers = list(self._followers.items())
        return {loaded.version: each.status for loaded, each in followers}

    def collect(self) -> Iterator[Metric]:
        """Tells Prometheus how far followers have come."""
        labels = ["version", "shard"]
        name = "persia_serve_follow"
        rows = CounterMetricFamily(f"{name}_rows", "Rows set.", labels=labels)
        erased = CounterMetricFamily(f"{name}_erased", "Rows erased.", labels=labels)
        failures = CounterMetricFamily(
            f"{name}_failures", "Times that a shard could not be asked.", labels=labels
        )
        behind = GaugeMetricFamily(
            f"{name}_seconds_behind", "Age of the oldest news.", labels=["version"]
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
        """Begins to follow for a version, and waits until it is current."""
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
        """Has nobody wait any more: no version starts."""
        self._stopping.set()

    def ended(self, loaded: Loaded) -> None:
        """Ends the follower of a version, if it has one."""
        follower = self._followers.pop(loaded, None)
        if follower is not None:
            follower.close()

    def _wait_until_current(self, version: int, follower: Follower) -> None:
        """Waits, but not for a version that does not start any more."""
        began = time.monotonic()
        while True:
            status = follower.status
            waited = time.monotonic() - began
            if status.seconds_behind is not None:
                _logger.info("Version %d is current after %.1f s", version, waited)
                return
            if waited >= self._current_seconds:
                _logger.warning(
                    "Version %d serves before it is current, after %.1f s: %s",
                    *(version, waited, _late(status)),
                )
                return
            if self._stopping.wait(_LOOK_SECONDS):
                return


def _late(status: FollowerStatus) -> str:
    """Says what keeps a version from being current."""
    if not status.shards:
        return f"no shard was reached: {status.error}"
    late = next(shard for shard in status.shards if shard.current_at is None)
    reason = f": {late.error}" if late.error else ""
    return f"shard {late.shard} did not tell all of its changes{reason}"
