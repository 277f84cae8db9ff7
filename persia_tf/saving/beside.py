"""Checkpoints beside a model's file, for rows that are too large for the file.

A checkpoint holds all tables of a cluster. So if several layers are saved, or loaded,
one after the other and nothing is trained meanwhile, one checkpoint is saved, or
restored, for all of them.
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

# A folder of their own, so that `max_to_keep` of the user's saves never removes them.
_FOLDER = "models"


class _Known(NamedTuple):
    """A checkpoint, and the `_time` at which a session's rows equalled it."""

    reference: dict[str, Any]
    time: tuple[Any, ...]


# By session and the folder that the checkpoint is in.
_known: dict[tuple[str, str], _Known] = {}


def save_beside(cluster: Cluster) -> dict[str, Any]:
    """Saves a checkpoint, unless the last one still equals the rows.

    Returns:
        The reference for `restore_beside`, which JSON can represent.

    Raises:
        PersiaError: as `ptf.checkpoint.save` does.
    """
    session = cluster.session
    where = location(f"{cluster.checkpoint_root}/{_FOLDER}", cluster)
    known = _known.get((session.name, where))
    cluster.flush()
    # Taken before the save, so that rows that change during it do not count as saved.
    time = _time(cluster)
    if known is not None and known.time == time:
        if folders.is_complete(Shards(session), known.reference["folder"]):
            return known.reference
    saved = checkpoint.save(where, cluster=cluster, max_to_keep=None)
    reference = {"folder": saved.folder, "save_id": saved.save_id}
    _known[session.name, where] = _Known(reference, time)
    return reference


def restore_beside(cluster: Cluster, reference: dict[str, Any]) -> None:
    """Restores a checkpoint, unless the rows still equal it.

    Raises:
        NotFoundError: if the checkpoint does not exist.
        DataLossError: if another checkpoint has replaced it in its folder.
        PersiaError: as `ptf.checkpoint.restore` does.
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
            f"the rows of what is being loaded are in checkpoint {folder!r}, which is "
            "not there. Put it back; or load within `ptf.rows_stay()`, after "
            "`ptf.checkpoint.restore` of wherever it is now."
        )
    if folders.read_manifest(shards, folder).save_id != reference["save_id"]:
        raise errors.DataLossError(
            f"the rows of what is being loaded were in checkpoint {folder!r}, but "
            "another one lies there now"
        )
    before = _updates(cluster)
    checkpoint.restore(folder, cluster=cluster)
    time = _time(cluster)
    logging.warning(
        "restored checkpoint %s, which what is being loaded refers to: every table of "
        "it is now as it was then, also those of other models",
        folder,
    )
    # Another program's updates may have come after the restore.
    if _updates(cluster) == before:
        _known[key] = _Known(reference, time)


def _updates(cluster: Cluster) -> list[int]:
    """Returns how many updates each process has applied; a restore keeps the counts."""
    return [process.updates for process in cluster.stats()]


def _time(cluster: Cluster) -> tuple[Any, ...]:
    """Returns a value that differs after any change of rows.

    One change is not noticed: another process, such as another worker, overwrites
    existing rows by `Table.assign`.
    """
    return cluster.session.writes, *map(_time_of_process, cluster.stats())


def _time_of_process(process: ProcessStats) -> tuple[Any, ...]:
    tables = [(t.name, t.rows, t.rows_updated, t.evictions) for t in process.tables]
    return process.address, process.generation, process.updates, *tables
