"""Restores the rows of checkpoints."""

from __future__ import annotations

import os
import time

from absl import logging

from persia_tf import errors
from persia_tf.checkpoint import (
    chains,
    extra_files,
    folders,
    missing_rows,
    progress_bar,
    residuals,
    taking_part,
)
from persia_tf.checkpoint.saving import location
from persia_tf.checkpoint.shards import Progress, Shards
from persia_tf.checkpoint.waiting import wait_for_all, wait_until_not_needed
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import current_cluster

# For how long a restore is begun again while slots move from shard to shard.
_MOST_WAIT_SECONDS = 60
_PAUSE_SECONDS = 0.1


def restore(
    path: str | os.PathLike[str],
    *,
    cluster: Cluster | None = None,
    progress: progress_bar.Progress = False,
) -> str:
    """Restores the rows of a checkpoint, with their optimizer state.

    The number of shards may differ from the number in the cluster that was saved. The
    capacity and `row_dtype` of a table may differ too. A table that does not exist yet
    is created with the checkpoint's settings; tables that the checkpoint lacks are not
    changed. If a table now has another optimizer, its weights are restored, and its
    optimizer state is reset to initial values.

    Each shard holds at most its share of a table's `capacity`. Rows beyond that share
    are not restored, and a warning in the log says how many: ids are not spread evenly,
    so this may happen on more shards even if the table as a whole is not full.

    Shards with `--recovery log` write the restored rows to their recovery folders
    before `restore` returns, so that they can recover these rows after a crash even if
    the checkpoint was removed. Shards with `--recovery checkpoint` recover from the
    checkpoint itself: do not remove it until a newer checkpoint is saved.

    An increment is restored together with the checkpoints that it adds to. The shards
    replace their rows only once every shard has read the whole checkpoint: if one shard
    cannot read it, no shard changes. Updates that belong to lookups from before the
    restore are refused, so call `restore` between two calls of `fit`, not within one.

    Example:

    ```python
    ptf.checkpoint.restore("/checkpoints/run1")
    model.fit(...)
    ```

    Args:
        path: The folder of a checkpoint, or a folder with several checkpoints, of which
            the newest complete one is restored. See `save` for where such folders are.
        cluster: The `persia_tf.Cluster`. Defaults to the cluster of `ptf.use_cluster`,
            else to that of the environment.
        progress: Whether to show a progress bar; or a function that is called
            repeatedly instead, with the number of rows that are done and the total
            number. Defaults to False.

    Returns:
        The checkpoint's folder.

    Raises:
        NotFoundError: if there is no complete checkpoint.
        DataLossError: if a file of the checkpoint, or of a checkpoint that it adds to,
            is damaged or missing.
        SlotsMovedError: if slots move from shard to shard for longer than a minute:
            see `persia reshard`.
        InvalidArgumentError: if a table has another `output_dim`, or `path` is a file.
        PersiaError: if a shard does not answer (the message names the shard), or if a
            shard cannot write the rows to its recovery folder. If writing them failed,
            the rows are restored nevertheless, but the shard needs the checkpoint for
            recovery until it has written them.
    """
    cluster = cluster if cluster is not None else current_cluster()
    cluster.flush()
    until = time.monotonic() + _MOST_WAIT_SECONDS
    while True:
        try:
            return _restore(path, cluster, progress)
        except errors.SlotsMovedError as error:
            if time.monotonic() >= until:
                raise (error.__cause__ or error) from None
            logging.warning("the restore begins again: %s", error)
            time.sleep(_PAUSE_SECONDS)


def _restore(
    path: str | os.PathLike[str], cluster: Cluster, progress: progress_bar.Progress
) -> str:
    shards = Shards(cluster.session)
    folder = folders.find(shards, location(path, cluster))
    chain = chains.read(shards, folder)
    manifest = chain[-1].manifest
    total = sum(link.manifest.rows for link in chain)
    show = progress_bar.shower(progress, "Restoring")

    def tell(shards: list[Progress]) -> None:
        # Every shard reads all files, and reports the rows that it has read.
        if show is not None:
            rows = sum(shard.rows for shard in shards)
            show(rows, total * max(1, len(shards)))

    try:
        shards.restore(folder, manifest.save_id, chains.paths_of(chain))
        # A shard that joins the cluster later has nothing to restore.
        at_work = taking_part.checked(shards.progress(manifest.save_id))
        wait_for_all(
            shards,
            manifest.save_id,
            tell,
            lambda progress: taking_part.select(progress, at_work),
        )
        # The generation must increase with every restore, even if different programs
        # restore, so it is the current time.
        generation = time.time_ns()
        residuals.restore(
            cluster.session, shards, folder, manifest.residuals, generation
        )
        shards.swap(manifest.save_id, generation)
    except BaseException:
        # Frees the memory of the rows that shards have read but will not use.
        shards.forget(manifest.save_id)
        raise
    cluster.session.note_restored()
    wait_until_not_needed(shards)
    logging.info("restored %s, of %d checkpoints", folder, len(chain))
    missing_rows.warn_of_restored(cluster, exactly=len(chain) == 1)
    return folder


def read_extra(
    path: str | os.PathLike[str], *, cluster: Cluster | None = None
) -> bytes:
    """Returns what a program added to a checkpoint, as `extra` of `save`.

    Example:

    ```python
    ptf.checkpoint.save("/checkpoints/run1", extra=b"epoch 3")
    ...
    folder = ptf.checkpoint.restore("/checkpoints/run1")
    assert ptf.checkpoint.read_extra(folder) == b"epoch 3"
    ```

    Args:
        path: As for `restore`.
        cluster: As for `restore`.

    Raises:
        NotFoundError: if there is no complete checkpoint.
        DataLossError: if a file is damaged.
        PersiaError: if a shard does not answer, or cannot read a file.
    """
    cluster = cluster if cluster is not None else current_cluster()
    shards = Shards(cluster.session)
    folder = folders.find(shards, location(path, cluster))
    manifest = folders.read_manifest(shards, folder)
    return extra_files.read(shards, folder, manifest.extra)
