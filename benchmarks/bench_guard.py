"""How fast a checkout is beside an earlier commit, on this machine, in turn.

    python benchmarks/bench_guard.py                  # beside HEAD~1
    python benchmarks/bench_guard.py --base v1.2 --only store,training
    python benchmarks/bench_guard.py --base ../other  # a checkout, built as it is

Each turn runs a benchmark of the earlier commit, and the same benchmark of this
checkout. Each side runs its own programs and its own copy of persia_tf. A figure is the
median, over the turns, of this checkout's result divided by the earlier commit's: above
1 this checkout is faster. Figures below 0.95 are named at the end, but the exit status
is still 0, since other work on the machine can lower figures by more than that. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import native_programs
from turns import run_program

_FELL_BELOW = 0.95
_SHARDS = ("--embedding", "persia-remote", "--shards", "2")

# Each benchmark's program, its command line, the command line of a quick run, and the
# figures to compare. The figures of a native program are already ratios to a limit,
# which the program measures alternately with them.
BENCHMARKS: dict[str, tuple[str, Sequence[str], Sequence[str], Sequence[str]]] = {
    "store": (
        "store_bench.py",
        ("--only", "lookup,update"),
        ("--only", "lookup,update", "--rows", "1000000", "--rounds", "5"),
        (
            "lookup_over_gather",
            "lookup_over_gather_one_thread",
            "update_over_loop",
            "update_only_over_loop",
        ),
    ),
    "lookup": (
        "rows_over_redis.py",
        (),
        ("--quick",),
        ("rows_over_transport", "rows_over_redis", "rows_over_redis_with_dedupe"),
    ),
    "training": (
        "train_throughput.py",
        _SHARDS,
        (*_SHARDS, "--quick"),
        ("samples_per_second",),
    ),
    "embedded": (
        "train_throughput.py",
        ("--embedding", "persia-embedded"),
        ("--embedding", "persia-embedded", "--quick"),
        ("samples_per_second",),
    ),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--base", default="HEAD~1", help="a commit, or a built checkout (%(default)s)")
    add(
        "--only", default="store", help="of " + ", ".join(BENCHMARKS) + " (%(default)s)"
    )
    add("--turns", type=int, default=3, help="of each side (%(default)s)")
    add("--quick", action="store_true", help="small: finds what fell by a lot")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    for name in arguments.only:
        if name not in BENCHMARKS:
            parser.error(
                f"--only must name some of {[*BENCHMARKS]}. Received: {name!r}"
            )
    return arguments


def checkout(base: str, uses_package: bool) -> Path:
    """Returns a checkout of a commit, or the folder that `base` names.

    Args:
        base: The commit or the folder.
        uses_package: Whether the package's libraries are built in a commit's checkout.
            A benchmark builds its own program.
    """
    if Path(base).is_dir():
        return Path(base).resolve()
    found = _git("rev-parse", "--verify", f"{base}^{{commit}}")
    folder = native_programs.ROOT / "build" / "bench_guard" / found[:12]
    if not folder.exists():
        _git("worktree", "prune")
        _git("worktree", "add", "--detach", str(folder), found)
    if uses_package:
        build_package(folder)
    return folder


def build_package(folder: Path) -> None:
    """Builds the libraries of a checkout by its own build program."""
    build = [sys.executable, str(folder / "tools/native_build.py")]
    subprocess.run(build, check=True, stdout=sys.stderr)


def _git(*command: str) -> str:
    ended = subprocess.run(
        ["git", *command], cwd=native_programs.ROOT, capture_output=True, text=True
    )
    if ended.returncode:
        raise SystemExit(f"git {' '.join(command)}: {ended.stderr.strip()}")
    return ended.stdout.strip()


def compare(
    name: str, base: Path, arguments: argparse.Namespace
) -> dict[str, list[float]]:
    """Returns this checkout's figures over those of `base`, for each turn."""
    program, full, quick, figures = BENCHMARKS[name]
    options = quick if arguments.quick else full
    ratios: dict[str, list[float]] = {figure: [] for figure in figures}
    for turn in range(arguments.turns):
        before, now = (
            run_program(program, *options, checkout=side)["figures"]
            for side in (base, native_programs.ROOT)
        )
        for figure in figures:
            ratios[figure].append(now[figure] / before[figure])
        shown = {figure: round(ratios[figure][-1], 3) for figure in figures}
        print(f"turn {turn + 1}: {name}: {shown}", file=sys.stderr, flush=True)
    return {f"{name}.{figure}": turns for figure, turns in ratios.items()}


def main() -> None:
    arguments = parse_arguments()
    uses_package = arguments.only != ["store"]
    base = checkout(arguments.base, uses_package)
    if uses_package:
        build_package(native_programs.ROOT)
    load = os.getloadavg()[0]
    turns: dict[str, list[float]] = {}
    for name in arguments.only:
        turns.update(compare(name, base, arguments))
    figures = {name: statistics.median(ratios) for name, ratios in turns.items()}
    for name, value in figures.items():
        print(f"{name:40} {value:6.3f}")
    fell = [name for name, value in figures.items() if value < _FELL_BELOW]
    print("fell by more than 5%:", ", ".join(fell) or "none")
    setup = {
        "base": arguments.base,
        "turns": turns,
        "quick": arguments.quick,
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        **native_programs.machine(),
    }
    print(json.dumps({"benchmark": "guard", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
