"""Configures and builds a preset of CMakePresets.json.

    python tools/native_build.py                          # the libraries, in place
    python tools/native_build.py release store_bench      # a program of benchmarks/
    python tools/native_build.py address shard_host       # under a sanitizer

Does what `cmake --preset` and `cmake --build` do, but with the cmake, the ninja and the
packages of the Python that runs it, and only one build of a preset at a time.
`cmake --list-presets` lists the presets; the CMakeLists.txt of each folder has the
targets. $CXX, $CXXFLAGS and $LDFLAGS are honoured.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent

# CMake reads these variables when it first configures a folder, and never again.
_READ_ONCE = ("CXX", "CXXFLAGS", "LDFLAGS")


def build(preset: str = "release", *targets: str) -> Path:
    """Builds targets, or else the preset's own; returns the folder of its programs.

    Raises:
        FileNotFoundError: There is no cmake.
        subprocess.CalledProcessError: A step failed, and has printed why.
    """
    folder = _ROOT / "build" / ("native" if preset == "release" else f"native-{preset}")
    environment = {
        "CXX": "g++",
        **os.environ,
        "PATH": _path(),
        "PERSIA_PYTHON": sys.executable,
    }
    target = ["--target", *targets] if targets else []
    with lock(folder):
        configure = ["cmake", "--preset", preset, "--log-level=NOTICE"]
        ninja = shutil.which("ninja", path=environment["PATH"])
        if ninja is not None:
            # The ninja that CMake remembers may have been removed with pip's
            # environment.
            configure.append(f"-DCMAKE_MAKE_PROGRAM={ninja}")
        read = repr([environment.get(name) for name in _READ_ONCE])
        remembered = folder / "environment.txt"
        if not remembered.exists() or remembered.read_text() != read:
            configure.append("--fresh")
        subprocess.run(configure, cwd=_ROOT, env=environment, check=True)
        remembered.write_text(read)
        command = ["cmake", "--build", "--preset", preset, *target]
        subprocess.run(command, cwd=_ROOT, env=environment, check=True)
    return folder


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Keeps other builds out of a folder: two at once would spoil its files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _path() -> str:
    """The PATH of the build, which includes the folder of this Python's programs.

    That folder comes first. Under pip's isolation it comes last, since its programs
    cannot import their own modules there.
    """
    path = os.environ.get("PATH", os.defpath)
    scripts = sysconfig.get_path("scripts")
    is_isolated = "PIP_BUILD_TRACKER" in os.environ
    return os.pathsep.join([path, scripts] if is_isolated else [scripts, path])


if __name__ == "__main__":
    try:
        build(*sys.argv[1:])
    except FileNotFoundError as error:
        raise SystemExit(f"{error}: make env, or pip install cmake ninja") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.returncode) from None
