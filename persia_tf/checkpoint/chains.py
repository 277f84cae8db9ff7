"""Chains: a chain is a checkpoint and all earlier checkpoints that it builds on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from absl import logging

from persia_tf import errors
from persia_tf.checkpoint import folders
from persia_tf.checkpoint.folders import Files
from persia_tf.checkpoint.manifest import Manifest, shard_of


class Link(NamedTuple):
    """One checkpoint of a chain.

    Attributes:
        folder: The checkpoint's folder.
        manifest: The checkpoint's manifest.
    """

    folder: str
    manifest: Manifest


def read(files: Files, folder: str) -> list[Link]:
    """Returns the chain of a checkpoint, the oldest checkpoint first.

    If the checkpoint is not an increment, its chain has one link.

    Args:
        files: Reads the files of checkpoints.
        folder: The checkpoint's folder.

    Raises:
        DataLossError: if a checkpoint of the chain is missing, damaged or has been
            replaced by another checkpoint.
    """
    chain = [Link(folder, folders.read_manifest(files, folder))]
    while chain[0].manifest.parent is not None:
        chain.insert(0, parent_of(files, chain[0]))
        if len({link.manifest.save_id for link in chain}) < len(chain):
            raise errors.DataLossError(
                f"checkpoint {folder} is damaged: its chain of increments contains "
                f"{chain[0].folder} twice. Restore an earlier checkpoint."
            )
    return chain


def paths_of(chain: Sequence[Link]) -> list[str]:
    """Returns the paths of a chain's files, in the order in which shards read them."""
    return [f"{link.folder}/{file}" for link in chain for file in link.manifest.files]


def parent_of(files: Files, link: Link) -> Link:
    """Returns the checkpoint that an increment adds to.

    Raises:
        DataLossError: if that checkpoint is missing, damaged or has been replaced by
            another checkpoint.
    """
    parent = link.manifest.parent
    folder = os.path.join(os.path.dirname(link.folder), parent.name)
    advice = "Keep both in one folder, or restore an earlier checkpoint."
    is_of = f"checkpoint {link.folder} is an increment of {folder}"
    if not folders.is_complete(files, folder):
        raise errors.DataLossError(f"{is_of}, which is not there. {advice}")
    try:
        found = Link(folder, folders.read_manifest(files, folder))
    except errors.PersiaError as error:
        raise errors.DataLossError(f"{is_of}, which cannot be read: {error}") from error
    if found.manifest.save_id != parent.save_id:
        raise errors.DataLossError(
            f"{is_of}, but that folder now holds save {found.manifest.save_id} "
            f"instead of save {parent.save_id}. {advice}"
        )
    shards, parents_shards = (
        {shard_of(file) for file in each.manifest.files} for each in (link, found)
    )
    if shards != parents_shards:
        raise errors.DataLossError(
            f"{is_of}, but was saved by the shards {sorted(shards)} instead of "
            f"{sorted(parents_shards)}. Restore an earlier checkpoint."
        )
    return found


def keep_newest(files: Files, path: str, count: int) -> list[str]:
    """Retains the newest `count` checkpoints in `path`, and those that they need.

    Removes all others; if the manifest of one to retain is unreadable, removes none.

    Returns:
        The folders of the checkpoints that remain, the oldest first.
    """
    found = folders.complete(files, path)
    if len(found) <= count:
        return found
    try:
        needed = _needed(files, found[-count:])
    except errors.PersiaError as error:
        logging.warning(
            "old checkpoints in %s were not removed, since the newest cannot be read: "
            "%s",
            *(path, error),
        )
        return found
    # Newest first, so that an increment is removed before checkpoints that it needs.
    for folder in reversed(found):
        if folder not in needed:
            folders.remove(files, folder)
    return [folder for folder in found if folder in needed]


def _needed(files: Files, kept: Sequence[str]) -> set[str]:
    needed: set[str] = set()
    for folder in kept:
        link = Link(folder, folders.read_manifest(files, folder))
        while link.folder not in needed:
            needed.add(link.folder)
            if link.manifest.parent is not None:
                link = parent_of(files, link)
    return needed
