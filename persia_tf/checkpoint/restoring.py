"""Restoring of checkpoints."""

from __future__ import annotations

import os
import time

from absl import logging

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

    The number of shards may differ from that of the cluster that was saved, and so may
    the capacity and `row_dtype` of a table. A table that does not exist yet is created
    with the checkpoint's settings; tables that the checkpoint lacks are not changed. If
    a table now has another optimizer, its weights are restored, and its optimizer state
    is initialized anew.

    Shards with `--recovery log` write the rows to their recovery folders before this
    returns, so that they recover them after a crash even if the checkpoint was removed.
    Shards with `--recovery checkpoint` recover from the checkpoint itself: keep it
    until a newer one is saved.

    An increment is restored together with the checkpoints that it adds to. All shards
    first read the whole checkpoint, and replace their rows only once all have read it:
    if one cannot read it, no shard changes. Updates that belong to lookups from before
    the restore are refused, so restore between two calls of `fit`, not within one.

    Example:

    ```python
    ptf.checkpoint.restore("/checkpoints/run1")
    model.fit(...)
    ```

    Args:
        path: The folder of a checkpoint, or one with several checkpoints, of which the
            newest complete one is restored. See `save` for where such folders are.
        cluster: The `persia_tf.Cluster`. Defaults to that of `ptf.use_cluster`, else to
            the one of the environment.
        progress: Whether to show a progress bar; or a function that is called
            repeatedly instead, with the number of rows done and in total. Defaults to
            False.

    Returns:
        The checkpoint's folder.

    Raises:
        NotFoundError: if there is no complete checkpoint.
        DataLossError: if a file of the checkpoint, or of one that it is an increment
            of, is damaged or missing.
        InvalidArgumentError: if a table has another `output_dim`.
        PersiaError: if a shard does not answer (it is named), or cannot write the rows
            to its recovery folder. In the second case the rows are restored, and the
            shard needs the checkpoint to recover until it could write them.
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
        # Each shard reads every file.
        if show is not None:
            rows = sum(shard.rows for shard in shards)
            show(rows, total * max(1, len(shards)))

    try:
        shards.restore(folder, manifest.save_id, chains.paths_of(chain))
        wait_for_all(shards, tell)
        # The generation must increase with every restore, whichever program restores.
        shards.swap(manifest.save_id, generation=time.time_ns())
    except BaseException:
        # Otherwise the shards would keep the rows that they have read.
        shards.forget(manifest.save_id)
        raise
    cluster.session.note_restored()
    wait_until_not_needed(shards)
    logging.info("restored %s, of %d checkpoints", folder, len(chain))
    return folder
