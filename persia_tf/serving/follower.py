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
from persia_tf.stats import ProcessStats

# How long `close` waits for shards that do not answer.
_CLOSE_SECONDS = 2.0

# The pause between two looks at which shards the cluster has, unless slots move or a
# shard does not answer.
_LOOK_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class FollowerStatus:
    """The progress of a `Follower`.

    Attributes:
        shards: A `ShardProgress` for each shard that the cluster has at present; empty
            until the shards are known.
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

    Shards that join the cluster are followed too, and those that have left no longer.

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
        # Guards all fields below, except _watcher.
        self._changed = threading.Condition()
        # By the shard's id, or by its number if it has none.
        self._readers: dict[int, ShardReader] = {}
        self._error = ""
        self._stopping = False
        # Looks at which shards there are are numbered from 1.
        self._looks_begun = 0
        self._looks_ended = 0
        self._look_wanted = 1
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def status(self) -> FollowerStatus:
        """The follower's progress so far: a `FollowerStatus`."""
        with self._changed:
            shards = tuple(reader.progress for reader in self._readers.values())
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
            rounds = {each: each.next_round() for each in self._readers.values()}
        self._look_again(deadline)
        waited_for: set[ShardReader] = set()
        while missing := [each for each in self._present() if each not in waited_for]:
            for reader in missing:
                number = rounds.get(reader) or reader.next_round()
                is_current = reader.wait_for(number, deadline)
                if not is_current and reader in self._present():
                    raise _not_current(reader.progress, timeout)
            waited_for.update(missing)

    def close(self) -> None:
        """Stops following the shards, which then forget this follower.

        Waits at most a few seconds for shards that do not answer; such a shard forgets
        the follower by itself after 10 minutes. The model continues to serve the rows
        that it has.
        """
        deadline = time.monotonic() + _CLOSE_SECONDS
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        readers = self._present()
        for reader in readers:
            reader.begin_stop()
        for reader in readers:
            reader.stop(max(0.0, deadline - time.monotonic()))
        self._watcher.join(max(0.0, deadline - time.monotonic()))
        self._followed.close()

    def _present(self) -> list[ShardReader]:
        with self._changed:
            return list(self._readers.values())

    def _want_look(self) -> int:
        """Requests a look without the usual pause, and returns its number."""
        with self._changed:
            self._look_wanted = self._looks_begun + 1
            self._changed.notify_all()
            return self._look_wanted

    def _look_again(self, deadline: float) -> None:
        """Waits until a look that begins from now on has ended, or the deadline."""
        number = self._want_look()
        with self._changed:
            self._changed.wait_for(
                lambda: self._looks_ended >= number or self._stopping,
                timeout=max(0.0, deadline - time.monotonic()),
            )

    def _watch(self) -> None:
        """Follows the shards that the cluster has, until `close` is called."""
        pauses = Pauses()
        while self._begin_look(pauses):
            try:
                # If the cluster lists embedding workers, they report their shards.
                shards = self._cluster.shard_stats()
            except Exception as error:
                self._end_look(f"{type(error).__name__}: {error}")
                continue
            pauses.reset()
            self._use(shards)
            self._end_look("")

    def _begin_look(self, pauses: Pauses) -> bool:
        """Waits until the next look is due; returns False if the follower stops."""
        with self._changed:
            if self._error:
                # Until it is known which shards there are, nothing is followed.
                self._changed.wait_for(lambda: self._stopping, timeout=pauses.next())
            else:
                self._changed.wait_for(
                    lambda: self._stopping or self._look_wanted > self._looks_begun,
                    timeout=_LOOK_SECONDS,
                )
            self._looks_begun += 1
            return not self._stopping

    def _end_look(self, error: str) -> None:
        with self._changed:
            self._error = error
            self._looks_ended = self._looks_begun
            self._changed.notify_all()

    def _use(self, shards: Sequence[ProcessStats]) -> None:
        """Starts to follow new shards, and ends to follow those that have left.

        A shard that has left may no longer run. It owned no slots any more, so all its
        rows are now those of other shards, from which the model gets them.
        """
        addresses = [shard.address for shard in shards]
        self._followed.use_shards(addresses, self._cluster.shards)
        keys = [shard.member or number for number, shard in enumerate(shards)]
        with self._changed:
            if self._stopping:
                return
            left = [self._readers.pop(key) for key in self._readers.keys() - set(keys)]
            for number, (key, shard) in enumerate(zip(keys, shards)):
                if key not in self._readers:
                    self._readers[key] = self._new_reader(number, shard)
            self._changed.notify_all()
        for reader in left:
            reader.leave()

    def _new_reader(self, number: int, shard: ProcessStats) -> ShardReader:
        follower = ShardFollower(
            self._cluster.session,
            number,
            base_save=self._followed.base_save,
            member=shard.member,
        )
        return ShardReader(
            shard.address,
            follower,
            self._followed.sink(),
            self._poll_seconds,
            on_trouble=self._want_look,
        )

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _not_current(
    progress: ShardProgress, timeout: float
) -> errors.DeadlineExceededError:
    reason = f": {progress.error}" if progress.error else ""
    return errors.DeadlineExceededError(
        f"shard {progress.shard} did not send all of its changes in {timeout} s"
        f"{reason}. Give a longer `timeout`, or check that the shard is running"
    )
