"""Saves rows in a checkpoint of their cluster if a model's file cannot hold them.

A checkpoint holds all tables of a cluster, so it contains the rows of several layers.
Keras saves, or loads, one layer after the other. If no row changes meanwhile, this
module saves, or restores, only one checkpoint for all layers of the model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from absl import logging

from persia_tf import checkpoint, errors
from persia_tf.checkpoint import folders
from persia_tf.checkpoint.saving import location
from persia_tf.checkpoint.shards import Shards
from persia_tf.cluster import Cluster
from persia_tf.stats import ProcessStats

# The subfolder of `checkpoint_root` for checkpoints that model files refer to. It is
# separate from the folders of the user's own checkpoints, so that `max_to_keep` of a
# user's save never removes the rows of a model.
_FOLDER = "models"


class _Known(NamedTuple):
    """A checkpoint, and the state of a session's rows when they equalled it.

    Attributes:
        reference: The reference to the checkpoint that `save_beside` returned.
        time: The result of `_time` when the rows were equal to the checkpoint.
    """

    reference: dict[str, Any]
    time: tuple[Any, ...]


# Maps a session's name and a folder to the last checkpoint in that folder that the
# session saved or restored.
_known: dict[tuple[str, str], _Known] = {}


def save_beside(cluster: Cluster) -> dict[str, Any]:
    """Saves a checkpoint, unless no row has changed since the last checkpoint.

    Returns:
        A reference to the checkpoint, in a form that JSON can represent.

    Raises:
        PersiaError: for the same reasons as `ptf.checkpoint.save`.
    """
    session = cluster.session
    where = location(f"{cluster.checkpoint_root}/{_FOLDER}", cluster)
    known = _known.get((session.name, where))
    cluster.flush()
    # Compute `time` before the save, so that rows that change during the save do not
    # count as saved.
    time = _time(cluster)
    if known is not None and known.time == time:
        if folders.is_complete(Shards(session), known.reference["folder"]):
            return known.reference
    saved = checkpoint.save(where, cluster=cluster, max_to_keep=None)
    reference = {"folder": saved.folder, "save_id": saved.save_id}
    _known[session.name, where] = _Known(reference, time)
    return reference


def restore_beside(cluster: Cluster, reference: dict[str, Any]) -> None:
    """Restores a checkpoint, unless the rows are still equal to the checkpoint.

    Raises:
        NotFoundError: if the checkpoint does not exist.
        DataLossError: if the checkpoint's folder now holds another checkpoint.
        PersiaError: for the same reasons as `ptf.checkpoint.restore`.
    """
    session = cluster.session
    key = session.name, reference["folder"].rpartition("/")[0]
    known = _known.get(key)
    cluster.flush()
    if known is not None and known.reference == reference:
        if known.time == _time(cluster):
            return
    folder = reference["folder"]
    shards = Shards(session)
    if not folders.is_complete(shards, folder):
        raise errors.NotFoundError(
            f"what is being loaded has its rows in checkpoint {folder!r}, which does "
            "not exist. Put the checkpoint back; or restore it from its new place by "
            "`ptf.checkpoint.restore`, and then load within `ptf.rows_stay()`."
        )
    if folders.read_manifest(shards, folder).save_id != reference["save_id"]:
        raise errors.DataLossError(
            f"what is being loaded has its rows in checkpoint {folder!r}, but that "
            "folder now holds another checkpoint. Put the right checkpoint back; or "
            "load only the dense weights, within `ptf.rows_stay()`."
        )
    before = _updates(cluster)
    checkpoint.restore(folder, cluster=cluster)
    time = _time(cluster)
    logging.warning(
        "restored checkpoint %s, which has the rows of what is being loaded: this "
        "reset every table in it, also the tables of other models",
        folder,
    )
    # If the counts of updates differ, another program may have updated rows after the
    # restore, so the rows may no longer equal the checkpoint.
    if _updates(cluster) == before:
        _known[key] = _Known(reference, time)


def _updates(cluster: Cluster) -> list[int]:
    """Returns each shard's count of update requests; a restore does not reset it."""
    return [process.updates for process in cluster.stats()]


def _time(cluster: Cluster) -> tuple[Any, ...]:
    """Returns a value that differs after any change of rows.

    There is one exception: the value does not change if another process, such as
    another worker, overwrites existing rows by `Table.assign`.
    """
    return cluster.session.writes, *map(_time_of_process, cluster.stats())


def _time_of_process(process: ProcessStats) -> tuple[Any, ...]:
    tables = [(t.name, t.rows, t.rows_updated, t.evictions) for t in process.tables]
    return process.address, process.generation, process.updates, *tables
