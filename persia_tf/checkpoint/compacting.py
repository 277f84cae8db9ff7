"""Compaction: makes an increment a checkpoint that needs no other."""

from __future__ import annotations

import ctypes
import dataclasses
import os

from absl import logging

from persia_tf import _native, errors, files
from persia_tf.checkpoint import chains, folders
from persia_tf.checkpoint.chains import Link
from persia_tf.checkpoint.manifest import FILE_NAME
from persia_tf.checkpoint.reached_files import ReachedFiles


def compact(path: str | os.PathLike[str]) -> str:
    """Makes an increment a checkpoint that has all rows itself.

    Works on files alone, which this program must reach, so training goes on; and takes
    little memory.
    The checkpoint stays what it is: increments that build on it still do, the cluster
    goes on adding to it, and a save that is being made is not disturbed. What it
    needed before stays, since a shard that is restarted may be about to read it: the
    checkpoints before it until the next `save` removes them, its own files as an
    increment until it is removed itself.

    Example:

    ```python
    ptf.checkpoint.compact("/checkpoints/run1")
    ```

    Args:
        path: A checkpoint, or the folder of several, of which the newest complete one
            is taken.

    Returns:
        The checkpoint's folder.

    Raises:
        NotFoundError: if there is no complete checkpoint that this program reaches.
        DataLossError: if it, or one that it needs, is damaged or missing. Then it
            stays as it was.
    """
    reached = ReachedFiles()
    folder = folders.find(reached, _reached(os.fspath(path)))
    chain = chains.read(reached, folder)
    if len(chain) == 1:
        return folder
    newest = chain[-1].manifest
    count = len(newest.files)
    names = [f"whole-{index:05d}-of-{count:05d}" for index in range(count)]
    try:
        rows = sum(_compact_shard(chain, index, names[index]) for index in range(count))
    except errors.PersiaError:
        reached.remove_files(folder, names)
        raise
    compacted = dataclasses.replace(
        newest,
        files=tuple(names),
        rows=rows,
        bytes=sum(files.size_of(f"{folder}/{name}") for name in names),
        parent=None,
    )
    reached.write_file(folder, FILE_NAME, compacted.to_bytes())
    logging.info("compacted %d checkpoints to %s", len(chain), folder)
    return folder


def _reached(path: str) -> str:
    if not files.is_url(path):
        return os.path.abspath(path)
    files.reach_urls(path)
    return path.rstrip("/")


def _compact_shard(chain: list[Link], index: int, name: str) -> int:
    """Writes one shard's file; returns how many rows it has."""
    paths = [
        _native.utf8(f"{link.folder}/{link.manifest.files[index]}") for link in chain
    ]
    out = _native.utf8(f"{chain[-1].folder}/{name}")
    library = _native.library()
    library.persia_checkpoint_compact_files(
        (ctypes.c_char_p * len(paths))(*paths),
        len(paths),
        chain[-1].manifest.save_id,
        out,
    )
    # Nothing is taken for written that cannot be read.
    counts = _native.ShardFile()
    library.persia_checkpoint_read_file(out, ctypes.byref(counts))
    return counts.rows
