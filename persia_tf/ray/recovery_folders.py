"""The recovery folders of a shard that may be restarted on any node.

They are subfolders, numbered from 1, of one folder that all nodes share. Each start of
the shard copies the newest one and opens the copy. So it never waits for a lock that a
lost node holds, and a process that still runs on a node that Ray gave up writes to a
folder that no one reads any more. The folders are small: with recovery from
checkpoints, they name the tables and the last checkpoint.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

# How many older folders are left, for a reader that has just listed them.
_KEPT = 2


def next_folder(shard_folder: str) -> str:
    """Makes the folder for a start of the shard, with what the last start recorded.

    Args:
        shard_folder: The shard's folder of recovery folders, which is created if it
            does not exist.

    Returns:
        The path of a new recovery folder.

    Raises:
        OSError: If the folder cannot be made or copied.
    """
    parent = Path(shard_folder)
    parent.mkdir(parents=True, exist_ok=True)
    known = sorted(int(each.name) for each in parent.iterdir() if each.name.isdigit())
    newest = parent / str(known[-1]) if known else None
    # Copy to another name first, so that a copy that was interrupted is never used.
    copy = Path(tempfile.mkdtemp(prefix="copy-", dir=parent))
    if newest is not None:
        shutil.copytree(newest, copy, dirs_exist_ok=True)
    made = parent / str(known[-1] + 1 if known else 1)
    os.rename(copy, made)
    return str(made)


def remove_older(folder: str) -> None:
    """Removes the folders of earlier starts, except the newest few.

    Args:
        folder: The folder of a start that has succeeded.
    """
    made = Path(folder)
    numbers = (int(each.name) for each in made.parent.iterdir() if each.name.isdigit())
    older = sorted(number for number in numbers if number < int(made.name))
    for number in older[:-_KEPT]:
        shutil.rmtree(made.parent / str(number), ignore_errors=True)
