"""`persia checkpoint`: saves, restores and looks after checkpoints.

save and restore make running shards write and read the files. ls, verify and compact
work on files that this machine can reach: a checkpoint, or a folder of several, of
which compact takes the newest.
"""

from __future__ import annotations

import argparse
import ctypes
from typing import TYPE_CHECKING

from persia_tf import errors, files
from persia_tf.commands import checkpoint_rows
from persia_tf.commands.actions import Actions
from persia_tf.native import capi

if TYPE_CHECKING:
    from persia_tf.checkpoint.chains import Link

EXAMPLES = """
persia checkpoint save run1 --ps 10.0.0.1:7000,10.0.0.2:7000
persia checkpoint restore run1 --ps 10.0.0.1:7000,10.0.0.2:7000
persia checkpoint ls /checkpoints/run1
persia checkpoint verify s3://bucket/checkpoints/run1
persia checkpoint compact /checkpoints/run1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions of `persia checkpoint`, and their options."""
    actions = Actions(parser, EXAMPLES, checkpoint_rows.EXAMPLES)
    for name, text, description, add_options in (
        (
            "save",
            "make running shards save their rows",
            checkpoint_rows.SAVE,
            checkpoint_rows.add_save_arguments,
        ),
        (
            "restore",
            "make running shards restore rows",
            checkpoint_rows.RESTORE,
            checkpoint_rows.add_restore_arguments,
        ),
        (
            "ls",
            "show the checkpoints in a folder",
            "Shows a checkpoint, or those in a folder, with a line for each.",
            _add_path,
        ),
        (
            "verify",
            "read checkpoints completely, and report damaged ones",
            "Reads a checkpoint completely, or those in a folder, with the checkpoints "
            "that they need. Exits with 1 if one is damaged.",
            _add_path,
        ),
        (
            "compact",
            "make an increment independent of other checkpoints",
            "Turns an increment, or the newest one in a folder, into a checkpoint that "
            "has all rows itself. Training can continue meanwhile.",
            _add_path,
        ),
    ):
        add_options(actions.add(name, text, description))


def _add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", help="a checkpoint, or a folder of several"
    )


def run(args: argparse.Namespace) -> int:
    """Runs the action, and returns the exit code.

    `ls`, `verify` and `compact` print one line per checkpoint, and return 1 if a
    checkpoint is damaged. They raise NotFoundError if `args.path` has no checkpoint.
    """
    if args.action == "save":
        return checkpoint_rows.save(args)
    if args.action == "restore":
        return checkpoint_rows.restore(args)
    if files.is_url(args.path):
        files.reach_urls(args.path)
    if args.action == "compact":
        return _compact(args.path)
    folders = _folders(args.path.rstrip("/") or "/")
    if not folders:
        raise errors.NotFoundError(
            f"there is no checkpoint at {args.path}, and none inside it"
        )
    tell = _Verifier().line if args.action == "verify" else _described
    lines = [tell(folder) for folder in folders]
    for line, _ in lines:
        print(line)
    return 0 if all(is_whole for _, is_whole in lines) else 1


# The functions below import modules late, since these modules import NumPy. The process
# of `persia launch` loads this file too, and threads of NumPy there would receive the
# signals for which that process waits.
def _compact(path: str) -> int:
    from persia_tf.checkpoint.compacting import compact

    line, is_whole = _described(compact(path))
    print(line)
    return 0 if is_whole else 1


def _folders(path: str) -> list[str]:
    if _has_manifest(path):
        return [path]
    return [
        f"{path}/{name}" for name in files.list_folder(path) if name.startswith("ckpt-")
    ]


def _has_manifest(folder: str) -> bool:
    from persia_tf.checkpoint.manifest import FILE_NAME

    return FILE_NAME in files.list_folder(folder)


def _chain(folder: str) -> list[Link]:
    from persia_tf.checkpoint import chains
    from persia_tf.checkpoint.reached_files import ReachedFiles

    return chains.read(ReachedFiles(), folder)


def _described(folder: str) -> tuple[str, bool]:
    if not _has_manifest(folder):
        return f"{folder}: unfinished", True
    try:
        manifest = _chain(folder)[-1].manifest
    except errors.PersiaError as error:
        return f"{folder}: {error}", False
    shards = len(manifest.files)
    line = (
        f"{folder}: {manifest.rows} rows, {manifest.bytes} bytes, "
        f"{shards} {'shard' if shards == 1 else 'shards'}, {manifest.created}"
    )
    if manifest.parent is not None:
        line += f", increment of {manifest.parent.name}"
    return line, True


class _Verifier:
    """Verifies checkpoints, and those that they depend on, by reading each once."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def line(self, folder: str) -> tuple[str, bool]:
        """Returns the line to print for a checkpoint, and whether it is undamaged."""
        if not _has_manifest(folder):
            return f"{folder}: unfinished", True
        try:
            for link in _chain(folder):
                self._verify(link)
        except errors.PersiaError as error:
            return f"{folder}: DAMAGED: {error}", False
        return f"{folder}: OK, {self._told[folder]}", True

    def _verify(self, link: Link) -> None:
        if link.folder in self._told:
            return
        counts = [
            _read_file(f"{link.folder}/{file}", link) for file in link.manifest.files
        ]
        _check_slots(counts, link.folder)
        rows = sum(count.rows for count in counts)
        if rows != link.manifest.rows:
            raise errors.DataLossError(
                f"the files of {link.folder} have {rows} rows, but its manifest "
                f"says {link.manifest.rows}"
            )
        told = f"{rows} rows"
        if link.manifest.parent is not None:
            erased = sum(count.erased for count in counts)
            told += f" and {erased} removed since {link.manifest.parent.name}"
        if link.manifest.residuals:
            told += f", residuals of {_count_residuals(link)} ids"
        if link.manifest.extra:
            told += f", {_count_extra(link)} bytes of the program"
        self._told[link.folder] = told


def _check_slots(files_of_shards: list[capi.ShardFile], folder: str) -> None:
    held = 0
    for file in files_of_shards:
        slots = int.from_bytes(bytes(file.slots), "little")
        if held & slots:
            raise errors.DataLossError(
                f"several files of {folder} have the rows of the same slots: they are "
                "not of one checkpoint"
            )
        held |= slots
    missing = capi.SLOTS - bin(held).count("1")
    if missing:
        raise errors.DataLossError(
            f"the files of {folder} have no rows of {missing} of {capi.SLOTS} slots: "
            "files of shards are missing from its manifest"
        )


def _count_residuals(link: Link) -> int:
    from persia_tf.checkpoint import residuals
    from persia_tf.checkpoint.reached_files import ReachedFiles

    return residuals.verify(ReachedFiles(), link.folder, link.manifest.residuals)


def _count_extra(link: Link) -> int:
    from persia_tf.checkpoint import extra_files
    from persia_tf.checkpoint.reached_files import ReachedFiles

    return len(extra_files.read(ReachedFiles(), link.folder, link.manifest.extra))


def _read_file(path: str, link: Link) -> capi.ShardFile:
    counts = capi.ShardFile()
    capi.library().persia_checkpoint_read_file(capi.utf8(path), ctypes.byref(counts))
    if counts.save_id != link.manifest.save_id:
        raise errors.DataLossError(f"{path} belongs to another checkpoint")
    parent = link.manifest.parent
    if counts.parent_id != (parent.save_id if parent is not None else 0):
        raise errors.DataLossError(
            f"{path} is an increment of another checkpoint than its manifest says"
        )
    return counts
