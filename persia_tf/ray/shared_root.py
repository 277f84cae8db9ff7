"""Checks that all nodes see the same folder of checkpoints."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

from persia_tf import errors


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


def check(root: str, hosts: Sequence[str], seen: Sequence[bool]) -> None:
    """Raises FailedPreconditionError unless all shards saw the mark of the first one.

    Args:
        root: The folder.
        hosts: The node of each shard.
        seen: Whether each shard saw the mark.
    """
    blind = [index for index, sees in enumerate(seen) if not sees]
    if blind:
        raise errors.FailedPreconditionError(
            "`checkpoint_root` (or `recovery_root`, if it is given) must be one folder "
            "that all nodes share, such as a network file system that is mounted on "
            "each node: otherwise a shard cannot be restarted on another node. "
            f"Received: {root!r}, in which shard {blind[0]} on "
            f"{hosts[blind[0]]} does not see the file that shard 0 on {hosts[0]} "
            "wrote"
        )
