"""Prints the folder of a Python package that the native build takes headers from.

    python tools/package_folder.py tensorflow

pip builds in an isolated environment, which hides the packages of the environment that
it builds for. Both have the same interpreter, so this program also asks that
interpreter outside of the isolation, and a build needs no second TensorFlow.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

_FIND = """
import importlib.util, os, sys
spec = importlib.util.find_spec(sys.argv[1])
print(os.path.dirname(spec.origin) if spec and spec.origin else "")
"""


def package_folder(package: str) -> str | None:
    """Returns where `package` is installed, without importing it; None if nowhere."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        return os.path.dirname(spec.origin)
    # pip isolates by PYTHONPATH, which -E ignores.
    command = [sys.executable, "-E", "-c", _FIND, package]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return found.stdout.strip() or None


def _main() -> None:
    [package] = sys.argv[1:]
    folder = package_folder(package)
    if folder is None:
        distribution = package.replace("_", "-")
        raise SystemExit(
            f"the native build needs the package {distribution}, which this Python "
            f"({sys.executable}) does not have: pip install {distribution}"
        )
    print(folder)


if __name__ == "__main__":
    _main()
