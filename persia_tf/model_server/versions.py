"""Finds the versions in a model's folder."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterator
from typing import Any

from persia_tf import errors

_SAVED_MODEL = "saved_model.pb"

# The version number of a model whose folder is itself a SavedModel.
_ONLY_VERSION = 1

# Version numbers are signed 64-bit integers in the gRPC messages and in TensorFlow
# Serving.
_MOST_VERSION = 2**63 - 1

_logger = logging.getLogger("persia.serve")


def read_policy(text: str) -> int | None:
    """Parses which versions serve: returns N for "latest:N", and None for "all".

    Raises:
        InvalidArgumentError: If `text` has neither form.
    """
    if text == "all":
        return None
    word, _, count = text.partition(":")
    if word != "latest" or not count.isdecimal() or int(count) < 1:
        raise errors.InvalidArgumentError(
            'the versions to serve must be "all", or "latest:N" with an N of at least '
            f'1, such as "latest:1". Received: "{text}"'
        )
    return int(count)


def find(folder: str) -> dict[int, str]:
    """Returns the folders of a model's versions, by version number.

    Skips folders whose number is above 2^63 - 1, and logs a warning for each.

    Args:
        folder: A folder with one subfolder per version, named by the version's number;
            or the folder of a SavedModel, which is then version 1.

    Raises:
        OSError: If the folder cannot be listed.
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


# The cache prevents repeated warnings for a path, although its folder is polled.
@functools.lru_cache(maxsize=4096)
def _tell_too_large(path: str) -> None:
    _logger.warning(
        "%s does not serve: a version's number must be at most %d; rename the folder, "
        "such as to the seconds since 1970",
        *(path, _MOST_VERSION),
    )


def fingerprint(path: str) -> frozenset[Any]:
    """Returns a value that changes with any change to the files of a folder."""
    return frozenset(_files(path))


def _files(path: str) -> Iterator[tuple[str, int, int, int]]:
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            try:
                stat = os.stat(file)
            except OSError:
                continue  # The file was just removed, which is a change, too.
            yield file, stat.st_ino, stat.st_size, stat.st_mtime_ns
