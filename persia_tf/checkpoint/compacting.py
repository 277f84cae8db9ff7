"""Compaction: turns an increment into a checkpoint that needs no other."""

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
    """Turns an increment into a checkpoint that holds all rows itself.

    It only reads and writes files, which this program must be able to access, and
    involves no shard: training can continue. It needs little memory.

    The checkpoint keeps its folder and identity: later increments still build on it,
    and a save that is in progress is not disturbed. The files that it needed before are
    not removed, since a restarting shard may be about to read them: earlier checkpoints
    stay until a later `save` removes them, and its own files as an increment until the
    checkpoint itself is removed.

    Example:

    ```python
    ptf.checkpoint.compact("/checkpoints/run1")
    ```

    Args:
        path: The folder of a checkpoint, or one with several checkpoints, of which the
            newest complete one is compacted.

    Returns:
        The checkpoint's folder.

    Raises:
        NotFoundError: if this program finds no complete checkpoint at `path`.
        DataLossError: if the checkpoint, or one that it needs, is damaged or missing.
            The checkpoint is unchanged then.
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
    """Writes one shard's file; returns the number of its rows."""
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
    # Reads the file again to verify it.
    counts = _native.ShardFile()
    library.persia_checkpoint_read_file(out, ctypes.byref(counts))
    return counts.rows
