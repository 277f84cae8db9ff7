"""Restoring of checkpoints."""

from __future__ import annotations

import os
import time

from absl import logging

from persia_tf import errors
from persia_tf.checkpoint import chains, folders, progress_bar
from persia_tf.checkpoint.saving import location
from persia_tf.checkpoint.shards import Progress, Shards
from persia_tf.checkpoint.waiting import wait_for_all, wait_until_not_needed
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import current_cluster


def restore(
    path: str | os.PathLike[str],
    *,
    cluster: Cluster | None = None,
    progress: progress_bar.Progress = False,
) -> str:
    """Restores the rows of a checkpoint, with their optimizer state.

    The cluster may have another number of shards than the one that was saved, and its
    tables another capacity or `row_dtype`. A table that there is not yet gets the
    checkpoint's settings; tables that the checkpoint lacks stay as they are. A table
    whose optimizer is another one keeps its weights, and begins with new state.

    Shards with `--recovery log` write the rows to their recovery folders before this
    returns, so that they come back if they are killed, whatever becomes of the
    checkpoint. Those with `--recovery checkpoint` come back from the checkpoint itself:
    keep it until a newer one was saved.

    An increment is restored with those that it adds to. All shards read the whole
    checkpoint first, and then change all at once: if one cannot, none does. Updates of
    lookups from before are refused afterwards, so restore between two calls of `fit`
    and not within one.

    Example:

    ```python
    ptf.checkpoint.restore("/checkpoints/run1")
    model.fit(...)
    ```

    Args:
        path: A checkpoint, or the folder of several, of which the newest complete one
            is taken. See `save` for where it is.
        cluster: The `persia_tf.Cluster`. Defaults to that of `ptf.use_cluster`, else to
            the one of the environment.
        progress: Whether to show a progress bar; or a function that is told instead,
            again and again, how many rows are done, of how many. Defaults to False.

    Returns:
        The checkpoint's folder.

    Raises:
        NotFoundError: if there is no complete checkpoint.
        DataLossError: if a file of it is damaged or missing, or of a checkpoint that
            it is an increment of.
        InvalidArgumentError: if a table has another `output_dim`.
        PersiaError: if a shard does not answer (it is named), or cannot write the rows
            to its recovery folder: then they are restored, and the shard needs the
            checkpoint until it can.
    """
    cluster = cluster if cluster is not None else current_cluster()
    cluster.flush()
    shards = Shards(cluster.session)
    folder = folders.find(shards, location(path, cluster))
    chain = chains.read(shards, folder)
    manifest = chain[-1].manifest
    total = sum(link.manifest.rows for link in chain)
    show = progress_bar.shower(progress, "Restoring")

    def tell(shards: list[Progress]) -> None:
        # Each reads every file.
        if show is not None:
            rows = sum(shard.rows for shard in shards)
            show(rows, total * max(1, len(shards)))

    try:
        shards.restore(folder, manifest.save_id, chains.paths_of(chain))
        wait_for_all(shards, tell)
        # It must rise from restore to restore, also of programs that know nothing of
        # each other.
        shards.swap(manifest.save_id, generation=time.time_ns())
    except errors.PersiaError:
        shards.forget(manifest.save_id)
        raise
    cluster.session.note_restored()
    wait_until_not_needed(shards)
    logging.info("restored %s, of %d checkpoints", folder, len(chain))
    return folder
