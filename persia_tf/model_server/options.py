"""Options of a model server, as they can be checked before TensorFlow is there."""

from __future__ import annotations

import os

from persia_tf import errors

MOST_THREADS = 4096
MOST_EXAMPLES = 1 << 24

# A signed integer of 32 bits is what gRPC has for it.
MOST_MESSAGE_BYTES = 2**31 - 1

MOST_CONNECTIONS = 1 << 20

# Of REST's bodies together.
MOST_MEMORY = 1 << 40

# Eleven days: what waits, by whatever means, can wait for so long.
MOST_SECONDS = 1e6

# gRPC allows 127 bytes in a health check.
_MOST_NAME_BYTES = 127


def folder_of(model: str | os.PathLike[str]) -> str:
    """Returns the absolute path of a model's folder.

    Raises:
        NotFoundError: If there is none.
    """
    folder = os.path.abspath(os.fspath(model))
    if not os.path.isdir(folder):
        raise errors.NotFoundError(
            f"there is no folder {folder}: make it first, or name another. Its "
            "versions may come later"
        )
    return folder


def name_of(name: str | None, folder: str) -> str:
    """Returns what requests call a model: None is by its folder's name.

    Raises:
        InvalidArgumentError: If it cannot be one.
    """
    name = os.path.basename(folder) if name is None else name
    if not 0 < len(name.encode()) <= _MOST_NAME_BYTES or set(name) & set("/:"):
        raise errors.InvalidArgumentError(
            f"a model's name must have 1 to {_MOST_NAME_BYTES} bytes, and no / or :, "
            f"since URLs have it. Received: {name!r}"
        )
    return name
