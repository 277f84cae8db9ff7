"""`persia checkpoint`: lists and verifies checkpoints on this machine.

    persia checkpoint ls /checkpoints/run1
    persia checkpoint verify /checkpoints/run1

PATH is a checkpoint, or the folder of several.
"""

from __future__ import annotations

import argparse
import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

from persia_tf import _native, errors

if TYPE_CHECKING:
    from persia_tf.checkpoint.manifest import Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia checkpoint`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (
        ("ls", "show the checkpoints in a folder"),
        ("verify", "read them whole, and say which are damaged"),
    ):
        action = actions.add_parser(name, help=text, allow_abbrev=False)
        action.add_argument("path", type=Path, metavar="PATH")


def run(args: argparse.Namespace) -> int:
    """Prints a line a checkpoint; 1 if one is damaged, or if there is none."""
    folders = _folders(args.path)
    if not folders:
        raise errors.NotFoundError(
            f"there is no checkpoint at {args.path}, nor one in it"
        )
    tell = _verified if args.action == "verify" else _described
    lines = [tell(folder) for folder in folders]
    for line, _ in lines:
        print(line)
    return 0 if all(is_whole for _, is_whole in lines) else 1


def _folders(path: Path) -> list[Path]:
    if _has_manifest(path):
        return [path]
    return sorted(path.glob("ckpt-*"))


def _described(folder: Path) -> tuple[str, bool]:
    if not _has_manifest(folder):
        return f"{folder}: unfinished", True
    try:
        manifest = _manifest(folder)
    except errors.PersiaError as error:
        return f"{folder}: {error}", False
    return (
        f"{folder}: {manifest.rows} rows, {manifest.bytes} bytes, "
        f"{len(manifest.files)} shards, {manifest.created}"
    ), True


def _verified(folder: Path) -> tuple[str, bool]:
    if not _has_manifest(folder):
        return f"{folder}: unfinished", True
    try:
        manifest = _manifest(folder)
        rows = sum(_rows_of(folder / file, manifest) for file in manifest.files)
        if rows != manifest.rows:
            raise errors.DataLossError(
                f"its files have {rows} rows, its manifest says {manifest.rows}"
            )
    except errors.PersiaError as error:
        return f"{folder}: DAMAGED: {error}", False
    return f"{folder}: OK, {rows} rows", True


# These import late: NumPy comes along, and its threads would take the signals of
# `persia launch`.
def _has_manifest(folder: Path) -> bool:
    from persia_tf.checkpoint.manifest import FILE_NAME

    return (folder / FILE_NAME).is_file()


def _manifest(folder: Path) -> Manifest:
    from persia_tf.checkpoint.manifest import FILE_NAME, Manifest

    return Manifest.from_bytes((folder / FILE_NAME).read_bytes(), str(folder))


def _rows_of(path: Path, manifest: Manifest) -> int:
    counts = _native.ShardFile()
    _native.library().persia_checkpoint_read_file(
        _native.utf8(str(path)), ctypes.byref(counts)
    )
    if counts.save_id != manifest.save_id:
        raise errors.DataLossError(f"{path} is of another checkpoint")
    return counts.rows
