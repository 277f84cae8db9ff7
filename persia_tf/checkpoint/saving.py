"""Saves checkpoints, in the background if requested."""

from __future__ import annotations

import datetime
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypedDict

from absl import logging

from persia_tf import errors, files
from persia_tf.base import checks
from persia_tf.checkpoint import (
    chains,
    extra_files,
    folders,
    progress_bar,
    residuals,
    taking_part,
    whole_tables,
)
from persia_tf.checkpoint.manifest import FILE_NAME, Manifest, Parent, shard_of
from persia_tf.checkpoint.shards import Shards
from persia_tf.checkpoint.waiting import wait_for_all
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import current_cluster

DEFAULT_MAX_TO_KEEP = 5
_MOST_KEPT = 10**6

# How often a save is begun, with a pause between, if slots move meanwhile.
_MOST_ATTEMPTS = 30
_PAUSE_SECONDS = 0.05


class SaveOptions(TypedDict, total=False):
    """Arguments of `save` that a callback accepts and passes to each of its saves."""

    max_to_keep: int | None


def save(
    path: str | os.PathLike[str],
    *,
    cluster: Cluster | None = None,
    incremental: bool = False,
    max_to_keep: int | None = DEFAULT_MAX_TO_KEEP,
    block: bool = True,
    progress: progress_bar.Progress = False,
    extra: bytes = b"",
) -> Save:
    """Saves the rows of all tables of a cluster, with their optimizer state.

    A checkpoint holds what this program had trained when `save` was called: `save`
    first waits for the program's updates, so that all shards are at the same step. Then
    each shard writes its own file, in parallel. Training may continue meanwhile: if a
    row changes before it is written, its value from the time of the call is saved. A
    manifest is written last, so a checkpoint without a manifest was never finished; it
    is ignored. The dense part of a model is not saved: save it with Keras.

    An incremental checkpoint holds only the rows that were trained, set, created or
    removed since the newest checkpoint in `path`, and can be restored only together
    with that checkpoint. It does not record lookups: a row that was only looked up
    since that checkpoint is restored with its earlier time of last use, by which
    eviction ranks it. If a shard does not know what changed, a full checkpoint is saved
    instead, with a warning in the log. That happens after the shard was restarted,
    after a `restore`, after a table was cleared or dropped, after a save to another
    folder, and after rows moved from shard to shard.

    If several programs train one cluster, one of them must save, and the others must
    not train meanwhile.

    With `Cluster(wire_dtype="int4")`, a checkpoint also holds what the encoding of this
    program's gradients has yet to send, so that training goes on after `restore` as if
    there had been no interruption. What other programs have yet to send is not saved:
    at most half a step of int4 for each number of a gradient.

    Example:

    ```python
    ptf.checkpoint.save("/checkpoints/run1")
    ...
    ptf.checkpoint.save("/checkpoints/run1", incremental=True)
    ...
    ptf.checkpoint.restore("/checkpoints/run1")
    ```

    Args:
        path: The folder for this run's checkpoints. If rows are on shards, the folder
            is on the shards' machines, within their `--checkpoint-root`: a path
            relative to that root, an absolute path, or a URL if the root is a URL. All
            shards must see the same files.
        cluster: The `persia_tf.Cluster`. Defaults to the cluster of `ptf.use_cluster`,
            else to that of the environment.
        incremental: Whether to save only what changed since the newest checkpoint in
            `path`. Defaults to False.
        max_to_keep: How many checkpoints to retain in `path`. Older checkpoints are
            removed, unless a retained increment needs them. None retains all
            checkpoints. Defaults to `5`.
        block: Whether to wait until the checkpoint is complete. Defaults to True.
        progress: Whether to show a progress bar; or a function that is called
            repeatedly instead, with the number of rows that are done and the
            approximate total. Ignored unless `block`. Defaults to False.
        extra: Bytes of this program that belong to the rows, such as its place in its
            data. `ptf.checkpoint.read_extra` returns them. Defaults to none.

    Returns:
        A `Save`. Its `wait` blocks until the save has ended, and `restore` accepts its
        `folder`.

    Raises:
        TypeError: if `max_to_keep` is neither None nor an integer.
        ValueError: if `max_to_keep` is out of its range.
        InvalidArgumentError: if `path` is a file, or is below one.
        FailedPreconditionError: if a shard was started without
            `--checkpoint-root`, an earlier save has not ended, or a shard lost its
            part of a table. The message names the shard.
        SlotsMovedError: if slots move between shards during each of many tries.
        PersiaError: if a shard, which the message names, does not answer or cannot
            write its file.
    """
    max_to_keep = checked_max_to_keep(max_to_keep)
    cluster = cluster if cluster is not None else current_cluster()
    where = location(path, cluster)
    cluster.flush()
    whole_tables.check(cluster)
    shards = Shards(cluster.session)
    kept = residuals.copied(cluster.session)

    def start(base: _Base | None) -> Save:
        started = Save(shards, where, max_to_keep, base, kept, extra)
        if block:
            started.wait(progress=progress)
        return started

    return _saved(shards, where, incremental, start)


class _Base(NamedTuple):
    """The checkpoint that an increment adds to."""

    parent: Parent
    shards: frozenset[str]  # Those that wrote its files: see `shard_of`.


def _shards_of(files: Iterable[str]) -> frozenset[str]:
    return frozenset(map(shard_of, files))


def _saved(
    shards: Shards,
    path: str,
    incremental: bool,
    start: Callable[[_Base | None], Save],
) -> Save:
    """Calls `start`, again if slots move from shard to shard meanwhile."""
    attempts = 1
    while True:
        base = _base_in(shards, path) if incremental else None
        try:
            return start(base)
        except errors.SlotsMovedError as error:
            if attempts == _MOST_ATTEMPTS:
                raise (error.__cause__ or error) from None
        except errors.FailedPreconditionError as error:
            if base is None:
                raise
            # A shard may have restarted since it was asked what it knows.
            logging.warning("this checkpoint will be a full one: %s", error)
            incremental = False
        attempts += 1
        time.sleep(_PAUSE_SECONDS)


def checked_max_to_keep(value: Any) -> int | None:
    """Returns `value` if it is valid as `max_to_keep`.

    Raises:
        TypeError: if `value` is neither None nor an integer.
        ValueError: if `value` is an integer out of the allowed range.
    """
    if value is None:
        return None
    return checks.integer("max_to_keep", value, 1, _MOST_KEPT)


def location(path: str | os.PathLike[str], cluster: Cluster) -> str:
    """Returns a path in the form that the cluster's shards accept."""
    text = os.fspath(path).rstrip("/") or "/"
    if not cluster.is_embedded:
        return text
    if files.is_url(text):
        files.reach_urls(text)
        return text
    return os.path.abspath(text)


def _base_in(shards: Shards, path: str) -> _Base | None:
    """Returns the checkpoint that an increment in `path` can add to, or None."""
    found = folders.complete(shards, path)
    if not found:
        return None
    try:
        # Read the whole chain: an increment that adds to a broken chain could not be
        # restored.
        parent = chains.read(shards, found[-1])[-1].manifest
    except (errors.DataLossError, errors.FailedPreconditionError) as error:
        logging.warning(
            "the next checkpoint will be a full one, since no increment can build on "
            "the last one: %s",
            error,
        )
        return None
    now = shards.progress()
    knows_changes = {shard.base_id for shard in now} == {parent.save_id}
    saved = _shards_of(parent.files)
    if knows_changes and _shards_of(shard.file for shard in now) == saved:
        name = os.path.basename(found[-1])
        return _Base(Parent(name, parent.save_id), saved)
    logging.warning(
        "the next checkpoint will be a full one, since a shard does not know what "
        "changed after %s: the shard was restarted or restored, dropped or cleared a "
        "table, was saved elsewhere, or has rows of other slots now",
        found[-1],
    )
    return None


class Save:
    """A save in progress, started by `save`. Thread-safe.

    Attributes:
        folder: The checkpoint's folder.
        save_id: The checkpoint's unique number, which all of its files contain.
        is_incremental: Whether the checkpoint is an increment of another one.
        rows: The checkpoint's number of rows; None until the checkpoint is complete.
        kept: Once the save has ended, the folders of the checkpoints that were
            retained, including this one, the oldest first. None if `max_to_keep` was
            None, or the save failed.
    """

    def __init__(
        self,
        shards: Shards,
        path: str,
        max_to_keep: int | None,
        base: _Base | None,
        residuals_of_gradients: Sequence[bytes],
        extra_of_program: bytes,
    ) -> None:
        self.folder = folders.next_folder(shards, path)
        self._shards = shards
        self._path = path
        self._max_to_keep = max_to_keep
        self._parent = base.parent if base is not None else None
        self._residuals = residuals_of_gradients
        self._extra = extra_of_program
        self.is_incremental = base is not None
        self.kept: list[str] | None = None
        # The number is never 0, since 0 stands for "no checkpoint".
        self.save_id = secrets.randbits(63) + 1
        self._created = datetime.datetime.now(datetime.timezone.utc)
        self.rows: int | None = None
        self._show: Callable[[int, int], None] | None = None
        self._error: errors.PersiaError | None = None
        try:
            parent_id = base.parent.save_id if base is not None else 0
            shards.save(self.folder, self.save_id, parent_id)
            self._shards_at_work = taking_part.checked(shards.progress(self.save_id))
            at_work = _shards_of(self._shards_at_work.files)
            if base is not None and base.shards != at_work:
                raise errors.SlotsMovedError(
                    "shards have joined or left the cluster: save again"
                )
        except errors.PersiaError:
            self._clean_up()  # Some shards may have begun to save.
            raise
        # The thread is not a daemon, so that Python waits for the save before it exits.
        self._thread = threading.Thread(target=self._finish, name="persia-save")
        self._thread.start()

    def done(self) -> bool:
        """Returns whether the save has ended, successfully or not."""
        return not self._thread.is_alive()

    def wait(self, *, progress: progress_bar.Progress = False) -> str:
        """Waits until the checkpoint is complete.

        Args:
            progress: As for `save`. Defaults to False.

        Returns:
            The checkpoint's folder.

        Raises:
            PersiaError: if the save failed. In that case the checkpoint does not exist,
                and earlier checkpoints are unchanged.
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
            # Only warn: the save itself succeeded, and its checkpoint can be restored.
            logging.warning(
                "checkpoint %s is complete, but older checkpoints may not have been "
                "removed, and the next checkpoint may be a full one: %s",
                self.folder,
                error,
            )

    def _write_manifest(self) -> Manifest:
        written = wait_for_all(
            self._shards,
            self.save_id,
            self._tell,
            lambda progress: taking_part.select(progress, self._shards_at_work),
        )
        of_residuals = residuals.write(self._shards, self.folder, self._residuals)
        of_extra = extra_files.write(self._shards, self.folder, self._extra)
        manifest = Manifest(
            save_id=self.save_id,
            files=tuple(shard.file for shard in written),
            rows=sum(shard.rows for shard in written),
            bytes=sum(shard.bytes for shard in written),
            created=self._created.isoformat(timespec="seconds"),
            parent=self._parent,
            residuals=of_residuals,
            extra=of_extra,
        )
        self._shards.write_file(self.folder, FILE_NAME, manifest.to_bytes())
        return manifest

    def _commit(self) -> None:
        # Commit before old checkpoints are removed: until a shard knows that this
        # checkpoint is complete, the shard may need an older one for recovery.
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
            logging.warning(
                "could not remove all of the unfinished checkpoint %s: %s. Delete "
                "that folder if it still exists",
                *(self.folder, error),
            )
