"""Options of a model server, checked without importing TensorFlow."""

from __future__ import annotations

import os

from persia_tf import errors

MOST_THREADS = 4096
MOST_EXAMPLES = 1 << 24

# gRPC stores it in a signed 32-bit integer.
MOST_MESSAGE_BYTES = 2**31 - 1

MOST_CONNECTIONS = 1 << 20

# The upper limit of `body_memory`.
MOST_MEMORY = 1 << 40

# Eleven days: every way to wait accepts a timeout of this length.
MOST_SECONDS = 1e6

# The health check allows 127 bytes.
_MOST_NAME_BYTES = 127


def folder_of(model: str | os.PathLike[str]) -> str:
    """Returns the absolute path of a model's folder.

    Raises:
        NotFoundError: If there is no such folder.
    """
    folder = os.path.abspath(os.fspath(model))
    if not os.path.isdir(folder):
        raise errors.NotFoundError(
            f"there is no folder {folder}: make it first, or name another. Its "
            "versions may come later"
        )
    return folder


def name_of(name: str | None, folder: str) -> str:
    """Returns the name of a model in requests; None: its folder's name.

    Raises:
        InvalidArgumentError: If it is not a valid name.
    """
    name = os.path.basename(folder) if name is None else name
    if not 0 < len(name.encode()) <= _MOST_NAME_BYTES or set(name) & set("/:"):
        raise errors.InvalidArgumentError(
            f"a model's name must have 1 to {_MOST_NAME_BYTES} bytes, and no / or :, "
            f"since URLs have it. Received: {name!r}"
        )
    return name
