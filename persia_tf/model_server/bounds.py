"""Options of a model server, checked without importing TensorFlow."""

from __future__ import annotations

import os

from persia_tf import errors

MOST_THREADS = 4096
MOST_EXAMPLES = 1 << 24

# gRPC stores its limit on the size of a message in a signed 32-bit integer.
MOST_MESSAGE_BYTES = 2**31 - 1

MOST_CONNECTIONS = 1 << 20

# The largest `body_memory` that a `ModelServer` accepts, in bytes.
MOST_MEMORY = 1 << 40

# The health service accepts names of at most 127 bytes.
_MOST_NAME_BYTES = 127


def folder_of(model: str | os.PathLike[str]) -> str:
    """Returns the absolute path of a model's folder.

    Raises:
        InvalidArgumentError: If it is a file.
        NotFoundError: If there is no such folder.
    """
    folder = os.path.abspath(os.fspath(model))
    if os.path.isfile(folder):
        raise errors.InvalidArgumentError(
            f"{folder} is a file, and a model is served from a folder: write one by "
            "ptf.serving.export, and give that"
        )
    if not os.path.isdir(folder):
        raise errors.NotFoundError(
            f"there is no folder {folder}: create it first, or give another. Versions "
            "can be added to it later"
        )
    return folder


def name_of(name: str | None, folder: str) -> str:
    """Returns the name that requests use for a model: `name`, or its folder's name.

    Raises:
        InvalidArgumentError: If the name is empty, too long, or contains `/` or `:`.
    """
    name = os.path.basename(folder) if name is None else name
    if not 0 < len(name.encode()) <= _MOST_NAME_BYTES or set(name) & set("/:"):
        raise errors.InvalidArgumentError(
            f"a model's name must have 1 to {_MOST_NAME_BYTES} bytes, and no / or :, "
            f"since URLs contain it. Received: {name!r}"
        )
    return name
