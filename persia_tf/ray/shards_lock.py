"""The lock of a folder of checkpoints, which a driver reaches through its shards."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import Any

import ray

from persia_tf import errors
from persia_tf.ray import folder_lock
from persia_tf.ray.folder_lock import Entry

# How long a shard may take to read and write the lock of the folder of checkpoints, and
# how many shards are asked in turn.
_LOCK_SECONDS = 10.0
_MOST_ASKED = 3


class LockThroughShards:
    """Reaches the lock of a folder through the shards, for `FolderLock`.

    The driver may be on a machine that does not have the folder.
    """

    def __init__(self, shards: Sequence[Sequence[Any]], folder: str) -> None:
        self._shards = shards
        self._path = folder_lock.path_of(folder)
        self._asked = 0  # Counts requests, so that shards take turns.

    def hold(self, entry: Entry, instead_of: Entry | None) -> Entry:
        return self._call("hold_lock", entry, instead_of)

    def release(self, holder: str) -> None:
        self._call("release_lock", holder)

    def _call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of one shard; if that fails, of the next ones."""
        actors = [actor for each in self._shards for actor in each]
        for _ in range(min(len(actors), _MOST_ASKED)):
            shard = actors[self._asked % len(actors)]
            try:
                return ray.get(
                    getattr(shard, method).remote(self._path, *arguments),
                    timeout=_LOCK_SECONDS,
                )
            except ray.exceptions.RayError as error:
                failure = error
                self._asked += 1
        raise errors.UnavailableError(
            f"no shard answered a request for the lock {self._path}: {failure}"
        ) from failure


def about_driver() -> str:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return f"process {os.getpid()} of {os.uname().nodename}, from {now}"
