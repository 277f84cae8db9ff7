"""Which of this package's libraries a process has loaded."""

from __future__ import annotations

import os

NAMES = ("libpersia.so", "_persia_ops.so")


def paths(maps: str) -> dict[str, str]:
    """Returns where the package's libraries were loaded from, by their names.

    They are known by their names alone: where a checkout or an environment lies says
    nothing, as all of TensorFlow may lie below a folder named like the package.

    Args:
        maps: What /proc/PID/maps has.
    """
    # Five columns, and then a path, if any, which may have spaces.
    columns = [line.split(maxsplit=5) for line in maps.splitlines()]
    mapped = {line[5] for line in columns if len(line) == 6}
    return {
        os.path.basename(path): path
        for path in mapped
        if os.path.basename(path) in NAMES
    }
