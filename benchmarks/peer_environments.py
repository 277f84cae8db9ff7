"""A virtual environment for each peer of peers.py that cannot share ours.

    python benchmarks/peer_environments.py          # Makes all of them.
    python benchmarks/peer_environments.py pytorch  # Makes one.

TensorFlow Recommenders Addons is built for one version of TensorFlow, and PyTorch is
large, so neither is installed beside this library. An environment is made once, in
`$XDG_CACHE_HOME/persia_tf/peers`, in a folder that is named after what is installed:
other versions get a folder of their own.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

REQUIREMENTS = {
    "pytorch": ("torch==2.13.0", "numpy>=1.26"),
    "tfra": (
        *("tensorflow==2.16.2", "tf_keras==2.16.0"),
        "tensorflow-recommenders-addons==0.8.1",
        # Newer versions do not have the module pkg_resources, which the addons import.
        "setuptools<81",
    ),
}
_READY = "ready"
_INSTALL_SECONDS = 3600


class EnvironmentFailed(Exception):
    """A peer's environment could not be made; the message says why."""


def cache_folder() -> Path:
    """Returns the folder that has the environments."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "persia_tf" / "peers"


def python_of(
    name: str, requirements: Sequence[str], folder: Path | None = None
) -> Path:
    """Returns the Python of a peer's environment, which is made if there is none.

    Args:
        name: The peer's name.
        requirements: What pip installs.
        folder: The folder that has the environments. Defaults to `cache_folder()`.

    Raises:
        EnvironmentFailed: if the environment cannot be made.
    """
    # Packages are built for one version of Python.
    text = "\n".join([sys.version, *requirements])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = (folder or cache_folder()) / f"{name}-{digest}"
    python = path / "bin" / "python"
    # Without this file, an earlier run ended before everything was installed.
    if not (path / _READY).exists():
        _make(path, python, requirements)
        (path / _READY).touch()
    return python


def _make(path: Path, python: Path, requirements: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    give_up = time.monotonic() + _INSTALL_SECONDS
    # Our own pip installs into the environment, so that it needs none.
    _run([sys.executable, "-m", "venv", "--clear", "--without-pip", path], give_up)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    # Only a small part is ever imported, so compiling everything would take longer.
    install = ["--python", python, "install", "--quiet", "--no-compile"]
    _run([*pip, *install, *requirements], give_up)


def _run(command: Sequence[object], give_up: float) -> None:
    line = list(map(str, command))
    try:
        ended = subprocess.run(
            line,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=max(1.0, give_up - time.monotonic()),
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(
            f"`{' '.join(line)}` did not end in {_INSTALL_SECONDS} s"
        ) from None
    if ended.returncode:
        said = ended.stdout.strip().splitlines()
        errors = [text for text in said if text.startswith("ERROR")]
        reason = (errors or said or ["it printed nothing"])[-1]
        raise EnvironmentFailed(
            f"`{' '.join(line)}` ended with status {ended.returncode}: {reason}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="peer", help="all by default")
    arguments = parser.parse_args()
    for name in arguments.names or REQUIREMENTS:
        print(f"{name}: {python_of(name, REQUIREMENTS[name])}", flush=True)


if __name__ == "__main__":
    main()
