"""Saving of checkpoints."""

from __future__ import annotations

import datetime
import os
import secrets
import threading
from collections.abc import Callable
from typing import Any, TypedDict

from absl import logging

from persia_tf import checks, errors, files
from persia_tf.checkpoint import chains, folders, progress_bar, whole_tables
from persia_tf.checkpoint.manifest import FILE_NAME, Manifest, Parent
from persia_tf.checkpoint.shards import Shards
from persia_tf.checkpoint.waiting import wait_for_all
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import current_cluster

DEFAULT_MAX_TO_KEEP = 5
_MOST_KEPT = 10**6


class SaveOptions(TypedDict, total=False):
    """Of `save`, for callers that save again and again: those of every save."""

    max_to_keep: int | None


def save(
    path: str | os.PathLike[str],
    *,
    cluster: Cluster | None = None,
    incremental: bool = False,
    max_to_keep: int | None = DEFAULT_MAX_TO_KEEP,
    block: bool = True,
    progress: progress_bar.Progress = False,
) -> Save:
    """Saves the rows of all tables of a cluster, with their optimizer state.

    A checkpoint holds what this program had trained when `save` was called: it first
    waits for the program's updates, so that all shards are at one step. Then each
    shard writes its own file, in parallel, while training may go on; rows that change
    before they are written are kept as they were. A manifest is written last: a
    checkpoint without one was never finished, and counts as none. Dense weights are
    Keras's to save.

    An incremental one has only the rows that were trained, set, made or removed since
    the newest checkpoint in `path`, which it needs to be restored. Rows that were only
    looked up count as used when they were before, if the table evicts. It is a whole
    one, and says so in the log, if a shard does not know what changed since: after a
    restart, a `restore`, a table that was cleared or dropped, or a save to another
    folder.

    Where several programs train one cluster, one of them saves, while the others do
    not step.

    Example:

    ```python
    ptf.checkpoint.save("/checkpoints/run1")
    ...
    ptf.checkpoint.save("/checkpoints/run1", incremental=True)
    ...
    ptf.checkpoint.restore("/checkpoints/run1")
    ```

    Args:
        path: The folder for this run's checkpoints. Where rows are in shards, it is
            on the shards' machines, within their `--checkpoint-root`: relative to
            that, or absolute, or a URL where that is one. All shards must see the
            same files.
        cluster: The `persia_tf.Cluster`. Defaults to that of `ptf.use_cluster`, else to
            the one of the environment.
        incremental: Whether to save only what changed. Defaults to False.
        max_to_keep: How many checkpoints stay in `path`; older ones are removed, but
            for those that these need. None: all. Defaults to `5`.
        block: Whether to wait until the checkpoint is complete. Defaults to True.
        progress: If `block`, whether to show a progress bar; or a function that is
            told instead, again and again, how many rows are done, of about how many.
            Defaults to False.

    Returns:
        The save: `wait` for its end. Its `folder` is what `restore` takes too.

    Raises:
        TypeError: if `max_to_keep` is neither None nor an integer.
        ValueError: if `max_to_keep` is below 1.
        FailedPreconditionError: if a shard was started without
            `--checkpoint-root`, an earlier save has not ended, or a shard lost its
            part of a table (it is named).
        PersiaError: if a shard does not answer, or cannot write (it is named).
    """
    max_to_keep = checked_max_to_keep(max_to_keep)
    cluster = cluster if cluster is not None else current_cluster()
    where = location(path, cluster)
    cluster.flush()
    whole_tables.check(cluster)
    shards = Shards(cluster.session)
    parent = _parent_in(shards, where) if incremental else None
    started = Save(shards, where, max_to_keep, parent)
    if block:
        started.wait(progress=progress)
    return started


def checked_max_to_keep(value: Any) -> int | None:
    """Returns how many checkpoints stay, if `value` says that.

    Raises:
        TypeError: if it is neither None nor an integer.
        ValueError: if it is out of its range.
    """
    if value is None:
        return None
    return checks.integer("max_to_keep", value, 1, _MOST_KEPT)


def location(path: str | os.PathLike[str], cluster: Cluster) -> str:
    """Returns a path as the cluster's shards take it."""
    text = os.fspath(path).rstrip("/") or "/"
    if not cluster.is_embedded:
        return text
    if files.is_url(text):
        files.reach_urls(text)
        return text
    return os.path.abspath(text)


def _parent_in(shards: Shards, path: str) -> Parent | None:
    """Returns what an increment in `path` can add to, or None."""
    found = folders.complete(shards, path)
    if not found:
        return None
    try:
        # All of it: what adds to a chain that is broken would be of no use.
        parent_id = chains.read(shards, found[-1])[-1].manifest.save_id
    except (errors.DataLossError, errors.FailedPreconditionError) as error:
        logging.warning("the next checkpoint will be a whole one: %s", error)
        return None
    if shards.base_ids() == {parent_id}:
        return Parent(os.path.basename(found[-1]), parent_id)
    logging.warning(
        "the next checkpoint will be a whole one: a shard does not know what changed "
        "since %s; it was restarted or restored since, dropped or cleared a table, or "
        "saved elsewhere",
        found[-1],
    )
    return None


class Save:
    """A checkpoint in the making; `save` makes it. Thread-safe.

    Attributes:
        folder: Where it will be.
        save_id: The number that its files share, and no others have.
        is_incremental: Whether it has only what changed.
        rows: Once it is complete, how many it has.
        kept: Once it has ended, the checkpoints that stay beside it, and itself, the
            oldest first. None: no other one was removed.
    """

    def __init__(
        self,
        shards: Shards,
        path: str,
        max_to_keep: int | None,
        parent: Parent | None,
    ) -> None:
        self.folder = folders.next_folder(shards, path)
        self._shards = shards
        self._path = path
        self._max_to_keep = max_to_keep
        self._parent = parent
        self.is_incremental = parent is not None
        self.kept: list[str] | None = None
        # Never 0, which is no id.
        self.save_id = secrets.randbits(63) + 1
        self._created = datetime.datetime.now(datetime.timezone.utc)
        self.rows: int | None = None
        self._show: Callable[[int, int], None] | None = None
        self._error: errors.PersiaError | None = None
        try:
            parent_id = parent.save_id if parent is not None else 0
            shards.save(self.folder, self.save_id, parent_id)
        except errors.PersiaError:
            self._clean_up()  # Some shards may have begun.
            raise
        # The program may end before the save has.
        self._thread = threading.Thread(target=self._finish, name="persia-save")
        self._thread.start()

    def done(self) -> bool:
        """Returns whether it has ended, well or not."""
        return not self._thread.is_alive()

    def wait(self, *, progress: progress_bar.Progress = False) -> str:
        """Waits until the checkpoint is complete.

        Args:
            progress: As for `save`. Defaults to False.

        Returns:
            Its folder.

        Raises:
            PersiaError: if it failed. Then there is no such checkpoint, and the
                earlier ones are as they were.
        """
        self._show = progress_bar.shower(progress, "Saving")
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self.folder

    def _finish(self) -> None:
        try:
            manifest = self._write_manifest()
        except errors.PersiaError as error:
            self._error = error
            logging.error("checkpoint %s was not saved: %s", self.folder, error)
            self._clean_up()
            return
        self.rows = manifest.rows
        kind = "changes" if self.is_incremental else "rows"
        logging.info("saved %d %s to %s", manifest.rows, kind, self.folder)
        try:
            self._commit()
        except errors.PersiaError as error:
            # It can be restored all the same.
            logging.warning(
                "after checkpoint %s older ones may be left, and the next one may be "
                "a whole one: %s",
                self.folder,
                error,
            )

    def _write_manifest(self) -> Manifest:
        written = wait_for_all(self._shards, self._tell)
        manifest = Manifest(
            save_id=self.save_id,
            files=tuple(shard.file for shard in written),
            rows=sum(shard.rows for shard in written),
            bytes=sum(shard.bytes for shard in written),
            created=self._created.isoformat(timespec="seconds"),
            parent=self._parent,
        )
        self._shards.write_file(self.folder, FILE_NAME, manifest.to_bytes())
        return manifest

    def _commit(self) -> None:
        # A shard may need an older one until it knows of this.
        paths = chains.paths_of(chains.read(self._shards, self.folder))
        self._shards.commit(self.folder, self.save_id, paths)
        self._shards.forget(self.save_id)
        if self._max_to_keep is not None:
            self.kept = chains.keep_newest(self._shards, self._path, self._max_to_keep)

    def _tell(self, progress: list) -> None:
        if self._show is not None:
            self._show(
                sum(shard.rows for shard in progress),
                sum(shard.total_rows for shard in progress),
            )

    def _clean_up(self) -> None:
        try:
            self._shards.forget(self.save_id)
            folders.remove(self._shards, self.folder)
        except errors.PersiaError as error:
            logging.warning("parts of %s may be left: %s", self.folder, error)
