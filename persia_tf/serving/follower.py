"""Models that follow training while they serve."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Sequence
from typing import Any

from persia_tf import checks, errors
from persia_tf.cluster import Cluster
from persia_tf.following import ShardFollower
from persia_tf.serving.followed_model import FollowedModel
from persia_tf.serving.shard_reader import Pauses, ShardProgress, ShardReader

# How long shards that do not answer may keep `close`.
_CLOSE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class FollowerStatus:
    """How far a `Follower` has come.

    Attributes:
        shards: A `ShardProgress` for each; none before it knows which there are.
        seconds_behind: How old the oldest of what the shards told is: training before
            that shows in the model. None: some shard has not told all yet.
        error: Why it does not know which shards there are; empty: it does.
    """

    shards: tuple[ShardProgress, ...]
    seconds_behind: float | None
    error: str = ""


class Follower:
    """Brings what shards train to a loaded SavedModel, while it serves.

    A standalone export gets the rows that changed, new ones and those that are gone; a
    remote one has its copies of hot rows set right. Each row is seen as it was before
    or after a change; rows of one step may come one after the other. Dense layers stay
    as they were exported.

    A follower of an export that is older than what the shards remember is first told
    all rows. One that lost its connection goes on where it was, or from the shards'
    last checkpoint. Until then the model serves what it has.

    Example:

    ```python
    loaded = tf.saved_model.load("serving/ranking/1")
    with ptf.serving.Follower(loaded, ["10.0.0.1:7000", "10.0.0.2:7000"]) as follower:
        follower.wait_until_current(timeout=60)
        loaded.signatures["serving_default"](user=ids)
    ```

    Args:
        model: What `tf.saved_model.load` gives for an export.
        cluster: The shards that train: a `ptf.Cluster`, or a list of `"host:port"`. Of
            the cluster, of embedding workers before it, or of read replicas of it;
            there may be more or fewer than when the model was exported.
        poll_seconds: How long a shard is left alone after it told all that it has.
            Defaults to `0.1`.

    Raises:
        ValueError: if the model is no export, an argument is out of its range, or
            another follower of this standalone model is open.
    """

    def __init__(
        self, model: Any, cluster: Cluster | Sequence[str], *, poll_seconds: float = 0.1
    ) -> None:
        self._poll_seconds = checks.positive("poll_seconds", poll_seconds)
        self._cluster = cluster if isinstance(cluster, Cluster) else Cluster(cluster)
        self._followed = FollowedModel(model)
        self._readers: list[ShardReader] = []
        self._error = ""
        self._changed = threading.Condition()  # Guards these two.
        self._stop = threading.Event()
        self._opener = threading.Thread(target=self._open, daemon=True)
        self._opener.start()

    @property
    def status(self) -> FollowerStatus:
        """A `FollowerStatus`: how far it has come."""
        with self._changed:
            shards = tuple(reader.progress for reader in self._readers)
            error = self._error
        times = [shard.current_at for shard in shards]
        behind = None if None in times or not times else time.monotonic() - min(times)
        return FollowerStatus(shards, behind, error)

    def wait_until_current(self, timeout: float = 60.0) -> None:
        """Waits until the model has all that the shards had when this was called.

        Args:
            timeout: For how long, in seconds. Defaults to `60.0`.

        Raises:
            DeadlineExceededError: if it took longer; it names a shard that is behind,
                and why, if asking it failed.
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
                f"shard {progress.shard} did not tell all of its changes in {timeout} s"
                f"{reason}. Give it a longer `timeout`, or see to the shard"
            )

    def close(self) -> None:
        """Stops following, and frees its places at the shards.

        Waits a few seconds at most for shards that do not answer; they free the place
        themselves after 10 minutes. The model serves on with what it has.
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
        """Finds out which shards there are, however long that takes."""
        pauses = Pauses()
        while not self._stop.is_set():
            try:
                # Workers say which shards are behind them.
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
