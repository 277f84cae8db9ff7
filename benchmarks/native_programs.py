"""The benchmarks' native programs, and the machine that they run on."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def can_build() -> bool:
    """Returns whether the source folder is writable and CMake is installed."""
    # A sandbox may mount the sources read-only.
    is_ours = os.access(ROOT / "cc", os.W_OK)
    return is_ours and (
        importlib.util.find_spec("cmake") is not None
        or shutil.which("cmake") is not None
    )


def build(name: str, checkout: Path = ROOT) -> Path:
    """Builds the program in benchmarks/`name` of a checkout; returns its path."""
    command = [sys.executable, str(checkout / "tools/native_build.py"), "release", name]
    built = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        raise SystemExit(built.stdout)
    return checkout / "build/native" / name


def machine() -> dict[str, object]:
    """Describes what figures depend on: the processor, its memory, the compiler."""
    cpu = dict(
        line.split(":", 1)
        for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    )
    cpu = {name.strip(): value.strip() for name, value in cpu.items()}
    flags = cpu.get("flags", "").split()
    huge_pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    compiler = os.environ.get("CXX", "g++")
    version = subprocess.run(
        [compiler, "-dumpfullversion"], stdout=subprocess.PIPE, text=True
    )
    return {
        "cores": os.cpu_count(),
        "cpu": cpu.get("model name", platform.machine()),
        "vectors": [f for f in ("avx2", "avx512f", "avx512bw") if f in flags],
        "huge_pages": huge_pages.read_text().strip() if huge_pages.exists() else None,
        "compiler": f"{compiler} {version.stdout.strip()}",
        "kernel": platform.release(),
    }
