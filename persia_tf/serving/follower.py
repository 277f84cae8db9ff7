"""Keeps loaded models up to date with training while they serve."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Sequence
from typing import Any

from persia_tf import errors
from persia_tf.base import checks
from persia_tf.cluster import Cluster
from persia_tf.following import ShardFollower
from persia_tf.serving.followed_model import FollowedModel
from persia_tf.serving.shard_reader import Pauses, ShardProgress, ShardReader

# How long `close` waits for shards that do not answer.
_CLOSE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class FollowerStatus:
    """The progress of a `Follower`.

    Attributes:
        shards: A `ShardProgress` for each shard; empty until the shards are known.
        seconds_behind: The staleness of the model, in seconds: the model has all
            updates that are older than this. None until every shard has sent all of its
            changes at least once.
        error: Why the last attempt to get the list of shards from the cluster failed;
            empty if it succeeded, or if there was no attempt yet.
    """

    shards: tuple[ShardProgress, ...]
    seconds_behind: float | None
    error: str = ""


class Follower:
    """Updates a loaded SavedModel, while it serves, with the changes of the shards.

    In a standalone export, rows are set, added and erased as on the shards; in a remote
    export, the copies of hot rows are updated. A lookup sees each row as it was before
    or after a change, never in between; but rows of one training step may change one
    after the other. The dense part stays as it was exported.

    If the shards do not remember all changes since the export, they first send all
    rows. After a lost connection, the follower continues where it stopped, or from the
    shards' last checkpoint. Meanwhile, the model serves the rows that it has.

    Example:

    ```python
    loaded = tf.saved_model.load("serving/ranking/1")
    with ptf.serving.Follower(loaded, ["10.0.0.1:7000", "10.0.0.2:7000"]) as follower:
        follower.wait_until_current(timeout=60)
        loaded.signatures["serving_default"](user=ids)
    ```

    Args:
        model: An export, loaded by `tf.saved_model.load`.
        cluster: The cluster that trains the model: a `ptf.Cluster`, or a list of
            `"host:port"` of its shards, of embedding workers in front of the shards, or
            of read replicas of the shards. The number of shards may differ from the
            number at the time of the export.
        poll_seconds: The pause, in seconds, after a shard has sent all of its changes,
            until it is polled again. Defaults to `0.1`.

    Raises:
        ValueError: if the model is not an export, an argument is out of its range, or
            another open follower writes to the same standalone export.
    """

    def __init__(
        self, model: Any, cluster: Cluster | Sequence[str], *, poll_seconds: float = 0.1
    ) -> None:
        self._poll_seconds = checks.positive("poll_seconds", poll_seconds)
        self._cluster = cluster if isinstance(cluster, Cluster) else Cluster(cluster)
        self._followed = FollowedModel(model)
        self._readers: list[ShardReader] = []
        self._error = ""
        self._changed = threading.Condition()  # Guards _readers and _error.
        self._stop = threading.Event()
        self._opener = threading.Thread(target=self._open, daemon=True)
        self._opener.start()

    @property
    def status(self) -> FollowerStatus:
        """The follower's progress so far: a `FollowerStatus`."""
        with self._changed:
            shards = tuple(reader.progress for reader in self._readers)
            error = self._error
        times = [shard.current_at for shard in shards]
        behind = None if None in times or not times else time.monotonic() - min(times)
        return FollowerStatus(shards, behind, error)

    def wait_until_current(self, timeout: float = 60.0) -> None:
        """Waits until the model has all changes that the shards had at this call.

        Args:
            timeout: The longest wait, in seconds. Defaults to `60.0`.

        Raises:
            DeadlineExceededError: if it takes longer. The message names a shard that is
                behind, and the shard's last error if polling the shard failed.
        """
        deadline = time.monotonic() + checks.positive("timeout", timeout)
        with self._changed:
            if not self._changed.wait_for(lambda: self._readers, timeout):
                raise errors.DeadlineExceededError(
                    f"{self._cluster} was not reached in {timeout} s: {self._error}"
                )
        rounds = [reader.next_round() for reader in self._readers]
        for reader, number in zip(self._readers, rounds):
            if reader.wait_for(number, deadline):
                continue
            progress = reader.progress
            reason = f": {progress.error}" if progress.error else ""
            raise errors.DeadlineExceededError(
                f"shard {progress.shard} did not send all of its changes in {timeout} "
                f"s{reason}. Give a longer `timeout`, or check that the shard is "
                "running"
            )

    def close(self) -> None:
        """Stops following the shards, which then forget this follower.

        Waits at most a few seconds for shards that do not answer; such a shard forgets
        the follower by itself after 10 minutes. The model continues to serve the rows
        that it has.
        """
        deadline = time.monotonic() + _CLOSE_SECONDS
        with self._changed:
            self._stop.set()
        self._opener.join(_CLOSE_SECONDS)
        for reader in self._readers:
            reader.begin_stop()
        for reader in self._readers:
            reader.stop(max(0.0, deadline - time.monotonic()))
        self._followed.close()

    def _open(self) -> None:
        """Gets the list of shards from the cluster, and starts to follow the shards.

        If the cluster does not answer, retries until it does, or `close` is called.
        """
        pauses = Pauses()
        while not self._stop.is_set():
            try:
                # If the cluster lists embedding workers, they report their shards.
                shards = [shard.address for shard in self._cluster.shard_stats()]
                break
            except Exception as error:
                with self._changed:
                    self._error = f"{type(error).__name__}: {error}"
                self._stop.wait(pauses.next())
        else:
            return
        with self._changed:
            if self._stop.is_set():
                return
            self._error = ""
            self._readers = self._start_readers(shards)
            self._changed.notify_all()

    def _start_readers(self, shards: Sequence[str]) -> list[ShardReader]:
        sinks = self._followed.sinks(shards, self._cluster.shards)
        base_save = self._followed.base_save
        session = self._cluster.session
        return [
            ShardReader(
                address,
                ShardFollower(session, shard, base_save=base_save),
                sink,
                self._poll_seconds,
            )
            for shard, (address, sink) in enumerate(zip(shards, sinks))
        ]

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
