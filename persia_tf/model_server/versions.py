"""The versions that a model's folder holds."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterator
from typing import Any

from persia_tf import errors

_SAVED_MODEL = "saved_model.pb"

# Of a folder that is a SavedModel itself.
_ONLY_VERSION = 1

# Messages of gRPC, and TensorFlow Serving, have numbers of 64 bits with a sign.
_MOST_VERSION = 2**63 - 1

_logger = logging.getLogger("persia.serve")


def read_policy(text: str) -> int | None:
    """Reads which versions serve: "latest:N", or "all", which gives None.

    Raises:
        InvalidArgumentError: If it is neither.
    """
    if text == "all":
        return None
    word, _, count = text.partition(":")
    if word != "latest" or not count.isdecimal() or int(count) < 1:
        raise errors.InvalidArgumentError(
            'which versions serve must be "all", or "latest:N" with N from 1 on, such '
            f'as "latest:1". Received: "{text}"'
        )
    return int(count)


def find(folder: str) -> dict[int, str]:
    """Returns the folders of the versions there are now, by number.

    Folders whose numbers have more than 64 bits are none of them.

    Args:
        folder: Has a folder for each version, whose name is its number; or is a
            SavedModel itself: version 1.

    Raises:
        OSError: If it cannot be listed.
    """
    entries = sorted(os.listdir(folder))
    if _SAVED_MODEL in entries:
        return {_ONLY_VERSION: folder}
    found: dict[int, str] = {}
    for name in entries:
        path = os.path.join(folder, name)
        if not (name.isascii() and name.isdecimal() and os.path.isdir(path)):
            continue
        if int(name) > _MOST_VERSION:
            _tell_too_large(path)
        else:
            found.setdefault(int(name), path)
    return found


# Once each, since folders are looked through again and again.
@functools.lru_cache(maxsize=4096)
def _tell_too_large(path: str) -> None:
    _logger.warning(
        "%s does not serve: a version's number must be at most %d; rename the folder, "
        "such as to the seconds since 1970",
        *(path, _MOST_VERSION),
    )


def fingerprint(path: str) -> frozenset[Any]:
    """Returns what changes when a file in a folder does, or comes or goes."""
    return frozenset(_files(path))


def _files(path: str) -> Iterator[tuple[str, int, int, int]]:
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            try:
                stat = os.stat(file)
            except OSError:
                continue  # It went away meanwhile: that is a change, too.
            yield file, stat.st_ino, stat.st_size, stat.st_mtime_ns
