"""Checkpoints beside a model's file, for rows that are too many for it.

A checkpoint has all tables of a cluster. So layers that are saved one after the other,
while nothing is trained, share one; and so they do when they are loaded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from absl import logging

from persia_tf import checkpoint, errors
from persia_tf.checkpoint import folders
from persia_tf.checkpoint.shards import Shards
from persia_tf.cluster import Cluster
from persia_tf.stats import ProcessStats

# `max_to_keep` of the user's own saves looks at what lies in their folder alone.
_FOLDER = "models"


class _Known(NamedTuple):
    """A checkpoint, and when a session's rows were those that it has."""

    reference: dict[str, Any]
    time: tuple[Any, ...]


_known: dict[str, _Known] = {}


def save_beside(cluster: Cluster) -> dict[str, Any]:
    """Saves a checkpoint, if the last one is not of the rows as they are.

    Returns:
        What `restore_beside` finds it by, as JSON has it.

    Raises:
        PersiaError: as `ptf.checkpoint.save` does.
    """
    session = cluster.session
    known = _known.get(session.name)
    if known is not None and _is_of_now(known, cluster):
        if folders.is_complete(Shards(session), known.reference["folder"]):
            return known.reference
    saved = checkpoint.save(
        f"{cluster.checkpoint_root}/{_FOLDER}", cluster=cluster, max_to_keep=None
    )
    reference = {"folder": saved.folder, "save_id": saved.save_id}
    _known[session.name] = _Known(reference, _time(cluster))
    return reference


def restore_beside(cluster: Cluster, reference: dict[str, Any]) -> None:
    """Restores a checkpoint, if the rows are not those that it has.

    Raises:
        DataLossError: if another checkpoint lies in its place.
        PersiaError: as `ptf.checkpoint.restore` does.
    """
    session = cluster.session
    known = _known.get(session.name)
    if known is not None and known.reference == reference:
        if _is_of_now(known, cluster):
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
    checkpoint.restore(folder, cluster=cluster)
    logging.warning(
        "restored checkpoint %s, which what is being loaded refers to: every table of "
        "it is now as it was then, also those of other models",
        folder,
    )
    _known[session.name] = _Known(reference, _time(cluster))


def _is_of_now(known: _Known, cluster: Cluster) -> bool:
    cluster.flush()
    return known.time == _time(cluster)


def _time(cluster: Cluster) -> tuple[Any, ...]:
    """What changes whenever rows do.

    But for rows that other programs set by `Table.assign`, meanwhile, in place of rows
    that there were.
    """
    return cluster.session.writes, *map(_time_of_process, cluster.stats())


def _time_of_process(process: ProcessStats) -> tuple[Any, ...]:
    tables = [(t.name, t.rows, t.rows_updated, t.evictions) for t in process.tables]
    return process.address, process.generation, process.updates, *tables
