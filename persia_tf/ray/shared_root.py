"""Checks that all nodes see the same folder of checkpoints."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

from persia_tf import errors, files


def check_is_no_file(argument: str, root: str) -> None:
    """Raises InvalidArgumentError if there is a file where a folder should be.

    Args:
        argument: The name of the argument of `ptf.ray.Cluster`.
        root: Its value: a path on this machine, or a URL, which is not checked.
    """
    if files.is_url(root):
        return
    existing = root
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        raise errors.InvalidArgumentError(
            f"`{argument}` must be a folder, or a path at which there is nothing yet, "
            f"but {existing} is a file. Received: {argument}={root!r}"
        )


def leave_mark(root: str) -> str:
    """Writes an empty file into the folder `root`, and returns its name."""
    name = f".mark-{secrets.token_hex(8)}"
    with open(os.path.join(root, name), "x"):
        pass
    return name


def sees_mark(root: str, name: str) -> bool:
    """Returns whether the folder `root` on this node has the file `name`."""
    return os.path.exists(os.path.join(root, name))


def remove_mark(root: str, name: str) -> None:
    """Removes the file of `leave_mark`."""
    os.unlink(os.path.join(root, name))


def check(root: str, actors: Sequence[str], seen: Sequence[bool]) -> None:
    """Raises FailedPreconditionError unless all actors saw the mark of the first one.

    Args:
        root: The folder.
        actors: For each actor of a shard, words such as "shard 1 on 10.0.0.2".
        seen: Whether each of them saw the mark.
    """
    blind = [index for index, sees in enumerate(seen) if not sees]
    if blind:
        raise errors.FailedPreconditionError(
            "`checkpoint_root` (or `recovery_root`, if it is given) must be one folder "
            "that all nodes share, such as a network file system that is mounted on "
            "each node: otherwise a shard cannot be restarted on another node. "
            f"Received: {root!r}, in which {actors[blind[0]]} does not see the file "
            f"that {actors[0]} wrote"
        )
