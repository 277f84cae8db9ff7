"""Compaction: turns an increment into a checkpoint that needs no other checkpoint."""

from __future__ import annotations

import ctypes
import dataclasses
import os

from absl import logging

from persia_tf import errors, files
from persia_tf.checkpoint import chains, folders
from persia_tf.checkpoint.chains import Link
from persia_tf.checkpoint.manifest import FILE_NAME, shard_of
from persia_tf.checkpoint.reached_files import ReachedFiles
from persia_tf.native import capi


def compact(path: str | os.PathLike[str]) -> str:
    """Turns an increment into a checkpoint that holds all rows itself.

    Compaction only reads and writes files, which this program must be able to access.
    It involves no shard, so training can continue, and it needs little memory.

    The checkpoint retains its folder and identity: later increments still build on it,
    and a save that is in progress is not disturbed. The files that the increment needed
    are not removed, since a restarting shard may be about to read them. The earlier
    checkpoints stay until a later `save` removes them, and the increment's own files
    stay until the checkpoint itself is removed.

    Example:

    ```python
    ptf.checkpoint.compact("/checkpoints/run1")
    ```

    Args:
        path: The folder of a checkpoint, or a folder with several checkpoints, of which
            the newest complete one is compacted.

    Returns:
        The checkpoint's folder.

    Raises:
        NotFoundError: if this program finds no complete checkpoint at `path`.
        DataLossError: if the checkpoint, or one that it needs, is damaged or missing.
            In that case the checkpoint is unchanged.
    """
    reached = ReachedFiles()
    folder = folders.find(reached, _reached(os.fspath(path)))
    chain = chains.read(reached, folder)
    if len(chain) == 1:
        return folder
    newest = chain[-1].manifest
    shards = [shard_of(file) for file in newest.files]
    names = [f"whole-{shard}" for shard in shards]
    try:
        rows = sum(
            _compact_shard(chain, shard, name) for shard, name in zip(shards, names)
        )
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


def _compact_shard(chain: list[Link], shard: str, name: str) -> int:
    """Merges one shard's files of a chain into a new file; returns its row count."""
    paths = [
        capi.utf8(f"{link.folder}/{file}")
        for link in chain
        for file in link.manifest.files
        if shard_of(file) == shard
    ]
    out = capi.utf8(f"{chain[-1].folder}/{name}")
    library = capi.library()
    library.persia_checkpoint_compact_files(
        (ctypes.c_char_p * len(paths))(*paths),
        len(paths),
        chain[-1].manifest.save_id,
        out,
    )
    # Reads the new file back to verify it.
    counts = capi.ShardFile()
    library.persia_checkpoint_read_file(out, ctypes.byref(counts))
    return counts.rows
