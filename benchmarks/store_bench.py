"""How close the store comes to the speed of memory: a table against flat arrays.

    python benchmarks/store_bench.py
    python benchmarks/store_bench.py --only lookup,update --rounds 15

Builds and runs the C++ program in benchmarks/store_bench. Each figure is a ratio to a
plain loop over a flat array on huge pages, measured alternately with it, so that it is
meaningful on a busy machine too. It is the median of several rounds. The last line is
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

import native_programs

PARTS = ("lookup", "update", "followed", "dense", "large", "growth")
THREADS = 2
QUICK = {
    "rows": 100_000,
    "small_rows": 20_000,
    "large_rows": 200_000,
    "growth_first": 1 << 14,
    "growth_last": 1 << 17,
    "requests": 8,
    "rounds": 2,
    "seconds": 0.02,
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only a smoke test")
    parser.add_argument(
        "--only", default=",".join(PARTS), help="parts, comma-separated: %(default)s"
    )
    parser.add_argument("--rows", type=int, help="for lookup, update (10 million)")
    parser.add_argument("--large-rows", type=int, help="for large (100 million)")
    parser.add_argument("--rounds", type=int, help="figures are their medians (7)")
    parser.add_argument("--seconds", type=float, help="seconds per measurement (0.25)")
    arguments = parser.parse_args()
    for part in arguments.only.split(","):
        if part not in PARTS:
            parser.error(f"--only must name parts of {PARTS}. Received: {part!r}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    sizes = {
        "rows": 10_000_000,
        "small_rows": 1_000_000,
        "large_rows": 100_000_000,
        "growth_first": 1 << 20,
        "growth_last": 1 << 25,
        "growth_rounds": 3,
        "batch": 25_000,
        "requests": 200,
        "rounds": 7,
        "seconds": 0.25,
        "threads": THREADS,
        "seed": 1,
        **(QUICK if arguments.quick else {}),
    }
    for name in ("rows", "large_rows", "rounds", "seconds"):
        if getattr(arguments, name) is not None:
            sizes[name] = getattr(arguments, name)
    program = native_programs.build("store_bench")
    load = os.getloadavg()[0]
    begin = time.monotonic()
    figures = run(program, arguments.only, sizes)
    setup = {
        **sizes,
        "parts": arguments.only,
        "growth_batch": 4096,
        "growth_threads": 1,
        "minutes": round((time.monotonic() - begin) / 60, 2),
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        **native_programs.machine(),
    }
    print(json.dumps({"benchmark": "store", "figures": figures, "setup": setup}))


def run(program: Path, parts: str, sizes: dict[str, float]) -> dict[str, float]:
    """Runs the program; returns the figures of all its parts."""
    options = [f"{name}={value}" for name, value in sizes.items()]
    figures: dict[str, float] = {}
    # A fixed seed: the index then does the same work in each round of a part.
    env = {**os.environ, "PERSIA_HASH_SEED": "store_bench"}
    with subprocess.Popen(
        [str(program), parts, *options], stdout=subprocess.PIPE, text=True, env=env
    ) as running:
        for line in running.stdout:
            part = json.loads(line)
            for name, value in part["figures"].items():
                print(f"{part['part']:8} {name:40} {value:10.4g}", flush=True)
            figures.update(part["figures"])
    if running.returncode:
        raise SystemExit(f"store_bench ended with status {running.returncode}")
    return figures


if __name__ == "__main__":
    main()
