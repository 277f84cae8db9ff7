"""Which of this package's libraries are loaded in a process."""

from __future__ import annotations

import os

NAMES = ("libpersia.so", "_persia_ops.so")


def paths(maps: str) -> dict[str, str]:
    """Returns where the package's libraries were loaded from, by their names.

    Libraries are recognised by their file names alone. Their folder says nothing, since
    all of TensorFlow may be in a folder with this package's name.

    Args:
        maps: The text of /proc/PID/maps.
    """
    # Five columns, and then a path, if there is one, which may contain spaces.
    columns = [line.split(maxsplit=5) for line in maps.splitlines()]
    mapped = {line[5] for line in columns if len(line) == 6}
    return {
        os.path.basename(path): path
        for path in mapped
        if os.path.basename(path) in NAMES
    }
