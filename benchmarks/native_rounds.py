"""Shared code of benchmarks that run one native program, which measures in rounds."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Mapping, Sequence

import native_programs


def make_parser(doc: str, rounds: int) -> argparse.ArgumentParser:
    """Declares --quick, --rounds and --seconds.

    Args:
        doc: The docstring of the module; its first line is the description.
        rounds: The default of --rounds.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--rounds", type=int, default=rounds, help="rounds to measure (%(default)s)")
    add("--seconds", type=float, default=1.0, help="of each measurement (%(default)s)")
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Reads the command line."""
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 0.05
    return arguments


def report(
    name: str, options: Sequence[object], sizes: Mapping[str, float | int]
) -> None:
    """Builds and runs a program, and prints what it measured.

    Args:
        name: The benchmark's name; its program is `name`_bench.
        options: The program's command line.
        sizes: What the figures depend on, besides the machine.
    """
    program = native_programs.build(f"{name}_bench")
    load = os.getloadavg()[0]
    ran = subprocess.run(
        [str(program), *map(str, options)], stdout=subprocess.PIPE, text=True
    )
    if ran.returncode:
        raise SystemExit(f"{name}_bench ended with status {ran.returncode}")
    figures = json.loads(ran.stdout)["figures"]
    for figure, value in figures.items():
        print(f"{figure:30} {value:10.4g}")
    setup = {
        **sizes,
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        **native_programs.machine(),
    }
    print(json.dumps({"benchmark": name, "figures": figures, "setup": setup}))
