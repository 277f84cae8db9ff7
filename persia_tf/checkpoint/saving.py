"""Saving of checkpoints."""

from __future__ import annotations

import datetime
import os
import secrets
import threading

from absl import logging

from persia_tf import checks, errors
from persia_tf.checkpoint import folders
from persia_tf.checkpoint.manifest import FILE_NAME, Manifest
from persia_tf.checkpoint.progress_bar import ProgressBar
from persia_tf.checkpoint.shards import Shards
from persia_tf.checkpoint.waiting import wait_for_all
from persia_tf.cluster import Cluster

_MOST_KEPT = 10**6


def save(
    path: str | os.PathLike[str],
    *,
    cluster: Cluster | None = None,
    max_to_keep: int | None = 5,
    block: bool = True,
    progress: bool = False,
) -> Save:
    """Saves the rows of all tables of a cluster, with their optimizer state.

    A checkpoint holds what this program had trained when `save` was called: it first
    waits for the program's updates, so that all shards are at one step. Then each
    shard writes its own file, in parallel, while training may go on; rows that change
    before they are written are kept as they were. A manifest is written last: a
    checkpoint without one was never finished, and counts as none. Dense weights are
    Keras's to save.

    Where several programs train one cluster, one of them saves, while the others do
    not step.

    Example:

    ```python
    ptf.checkpoint.save("/checkpoints/run1")
    ...
    ptf.checkpoint.restore("/checkpoints/run1")
    ```

    Args:
        path: The folder for this run's checkpoints. Where rows are in shards, it is
            on the shards' machines, within their `--checkpoint-root`: relative to
            that, or absolute. All shards must see the same files.
        cluster: The `persia_tf.Cluster`. Defaults to the one of the environment.
        max_to_keep: How many checkpoints stay in `path`; older ones are removed.
            None: all. Defaults to `5`.
        block: Whether to wait until the checkpoint is complete. Defaults to True.
        progress: Whether to show a progress bar, if `block`. Defaults to False.

    Returns:
        The save: `wait` for its end. Its `folder` is what `restore` takes too.

    Raises:
        FailedPreconditionError: if a shard was started without
            `--checkpoint-root`, or an earlier save has not ended.
        PersiaError: if a shard does not answer, or cannot write (it is named).
    """
    if max_to_keep is not None:
        max_to_keep = checks.integer("max_to_keep", max_to_keep, 1, _MOST_KEPT)
    cluster = cluster if cluster is not None else Cluster()
    where = location(path, cluster)
    cluster.flush()
    shards = Shards(cluster.session)
    started = Save(shards, where, max_to_keep)
    if block:
        started.wait(progress=progress)
    return started


def location(path: str | os.PathLike[str], cluster: Cluster) -> str:
    """Returns a path as the cluster's shards take it."""
    text = os.fspath(path).rstrip("/") or "/"
    return os.path.abspath(text) if cluster.is_embedded else text


class Save:
    """A checkpoint in the making; `save` makes it. Thread-safe.

    Attributes:
        folder: Where it will be.
    """

    def __init__(self, shards: Shards, path: str, max_to_keep: int | None) -> None:
        self.folder = folders.next_folder(shards, path)
        self._shards = shards
        self._path = path
        self._max_to_keep = max_to_keep
        # Never 0, which is no id.
        self._save_id = secrets.randbits(63) + 1
        self._created = datetime.datetime.now(datetime.timezone.utc)
        self._bar: ProgressBar | None = None
        self._error: errors.PersiaError | None = None
        try:
            shards.save(self.folder, self._save_id)
        except errors.PersiaError:
            self._clean_up()  # Some shards may have begun.
            raise
        # The program may end before the save has.
        self._thread = threading.Thread(target=self._finish, name="persia-save")
        self._thread.start()

    def done(self) -> bool:
        """Returns whether it has ended, well or not."""
        return not self._thread.is_alive()

    def wait(self, *, progress: bool = False) -> str:
        """Waits until the checkpoint is complete.

        Args:
            progress: Whether to show a progress bar. Defaults to False.

        Returns:
            Its folder.

        Raises:
            PersiaError: if it failed. Then there is no such checkpoint, and the
                earlier ones are as they were.
        """
        if progress:
            self._bar = ProgressBar("Saving")
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self.folder

    def _finish(self) -> None:
        try:
            self._write_manifest()
        except errors.PersiaError as error:
            self._error = error
            logging.error("checkpoint %s was not saved: %s", self.folder, error)
            self._clean_up()

    def _write_manifest(self) -> None:
        files = wait_for_all(self._shards, self._tell)
        manifest = Manifest(
            save_id=self._save_id,
            files=tuple(shard.file for shard in files),
            rows=sum(shard.rows for shard in files),
            bytes=sum(shard.bytes for shard in files),
            created=self._created.isoformat(timespec="seconds"),
        )
        self._shards.write_file(self.folder, FILE_NAME, manifest.to_bytes())
        self._shards.forget()
        if self._max_to_keep is not None:
            folders.keep_newest(self._shards, self._path, self._max_to_keep)
        logging.info("saved %d rows to %s", manifest.rows, self.folder)

    def _tell(self, progress: list) -> None:
        if self._bar is not None:
            self._bar.show(
                sum(shard.rows for shard in progress),
                sum(shard.total_rows for shard in progress),
            )

    def _clean_up(self) -> None:
        try:
            self._shards.forget()
            folders.remove(self._shards, self.folder)
        except errors.PersiaError as error:
            logging.warning("parts of %s may be left: %s", self.folder, error)
