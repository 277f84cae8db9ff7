"""Saves checkpoints of a cluster at intervals."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from persia_tf import checkpoint, errors
from persia_tf.cluster import Cluster

_LOGGER = logging.getLogger("persia.ray")

# A shard that did not hear of the newest checkpoint recovers from the one before.
_MAX_TO_KEEP = 3


class Saving:
    """Saves all tables, and does so at intervals on a thread. Thread-safe.

    Args:
        cluster: The cluster that is saved.
        folder: The folder of the checkpoints.
        interval: Seconds from the end of a save to the next save; None for saves only
            by `save`.
        check: Called before each save; raises a `PersiaError` if the folder is not
            this cluster's, and a save might remove the checkpoints of another one.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: str,
        interval: float | None,
        check: Callable[[], None],
    ) -> None:
        self.last_saved: str | None = None
        self._cluster = cluster
        self._folder = folder
        self._check = check
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(interval,), name="persia-ray-saving", daemon=True
        )
        if interval is not None:
            self._thread.start()

    def save(self) -> str:
        """Saves a checkpoint, and returns its folder.

        Raises:
            FailedPreconditionError: If another cluster has taken the folder.
            PersiaError: As `ptf.checkpoint.save` does.
        """
        with self._lock:
            self._check()
            saved = checkpoint.save(
                self._folder, cluster=self._cluster, max_to_keep=_MAX_TO_KEEP
            )
            self.last_saved = saved.folder
        _LOGGER.info("saved checkpoint %s", saved.folder)
        return saved.folder

    def restore(self, path: str | os.PathLike[str]) -> str:
        """Restores a checkpoint, between two saves; returns its folder.

        Raises:
            PersiaError: As `ptf.checkpoint.restore` does.
        """
        with self._lock:
            return checkpoint.restore(path, cluster=self._cluster)

    def stop(self) -> None:
        """Ends the thread, once a save in progress has ended."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self, interval: float) -> None:
        while not self._stopping.wait(interval):
            try:
                self.save()
            except errors.PersiaError as error:
                _LOGGER.warning(
                    "no checkpoint was saved: %s. The next try is in %g s",
                    *(error, interval),
                )
