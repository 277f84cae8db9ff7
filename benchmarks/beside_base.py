"""Requests per second of this checkout's shards beside those of an earlier commit.

    python benchmarks/beside_base.py --base v1.2
    python benchmarks/beside_base.py --base ../other  # a checkout, built as it is

Both sides run at the same time, each with two shards and a client of its own, and take
turns of a fraction of a second: so what other programs do to the machine's memory
meets both. All processes are started anew several times, and the side that starts
first changes, because where the memory of a process happens to lie moves its rates by a
few per cent for as long as it lives. A figure is the mean over the starts, with its
standard error; a start's value is the median, over the pairs of neighbouring turns, of
this checkout's rate divided by the earlier commit's. `bench_guard.py` compares whole
benchmarks, which take minutes each. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import bench_guard
import native_programs
import numpy as np
import rows_over_redis
import workload_w1
from processes import wait_until_idle
from shard_processes import running_shards

SHARDS = 2
# By name: the kind of round, and how many requests are in flight.
KINDS = {
    "lookup": ("remote", 4),
    "lookup_with_dedupe": ("remote_dedupe", 4),
    "lookup_one_at_a_time": ("remote", 1),
    "update": ("remote_update", 4),
}


@contextlib.contextmanager
def running_side(
    checkout: Path, workload: Path
) -> Iterator[rows_over_redis.RoundsProgram]:
    """Runs a checkout's shards and its client, which fills them."""
    with running_shards(SHARDS, checkout=checkout) as shards:
        addresses = ",".join(shard.address for shard in shards)
        program = native_programs.build("lookup_bench", checkout)
        with rows_over_redis.running_program(
            [program, workload, 1, addresses]
        ) as client:
            wait_until_idle([shard.pid for shard in shards])
            yield client


def measure(arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Returns the ratio of each start, by name."""
    checkouts = (
        bench_guard.checkout(arguments.base, uses_package=True),
        native_programs.ROOT,
    )
    bench_guard.build_package(native_programs.ROOT)
    ratios: dict[str, list[float]] = {name: [] for name in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        workload = Path(folder) / "workload"
        most_rows = 2000 if arguments.quick else arguments.rows
        ranks = workload_w1.load().ranks[: 4 if arguments.quick else 100]
        rows_over_redis.write_workload(workload, ranks, most_rows)
        for start in range(arguments.starts):
            of_turns = one_start(arguments, workload, checkouts, start)
            for name, values in of_turns.items():
                ratios[name].append(float(np.median(values)))
            print(f"start {start + 1}: {ratios}", flush=True)
    return ratios


def one_start(
    arguments: argparse.Namespace, workload: Path, checkouts: Sequence[Path], start: int
) -> dict[str, list[float]]:
    """Starts both sides; returns the ratio of each pair of turns, by name."""
    ratios: dict[str, list[float]] = {name: [] for name in KINDS}
    with contextlib.ExitStack() as stack:
        sides = {
            side: stack.enter_context(running_side(checkouts[side], workload))
            for side in _order(start)
        }
        for turn in range(arguments.turns):
            for name, (kind, in_flight) in KINDS.items():
                rates = {
                    side: sides[side].run(kind, 1, in_flight, arguments.seconds)
                    for side in _order(turn)
                }
                now, before = rates[1], rates[0]
                ratios[name].append(now["rows_per_second"] / before["rows_per_second"])
    return ratios


def _order(number: int) -> tuple[int, int]:
    """Returns which side is first: it changes, so that neither has an advantage."""
    return (0, 1) if number % 2 == 0 else (1, 0)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--base", default="HEAD~1", help="a commit, or a built checkout (%(default)s)")
    add("--starts", type=int, default=8, help="of all processes (%(default)s)")
    add("--turns", type=int, default=20, help="a start, of each side (%(default)s)")
    add("--seconds", type=float, default=0.4, help="of each turn (%(default)s)")
    add("--rows", type=int, default=200_000, help="at most, per feature (%(default)s)")
    add("--quick", action="store_true", help="only a smoke test")
    arguments = parser.parse_args()
    if arguments.starts < 2:
        parser.error("--starts must be at least 2, since they differ")
    if arguments.quick:
        arguments.starts, arguments.turns, arguments.seconds = 2, 2, 0.1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    ratios = measure(arguments)
    figures: dict[str, float] = {}
    errors: dict[str, float] = {}
    print(f"{'':24}  mean   standard error")
    for name, values in ratios.items():
        figures[name] = float(np.mean(values))
        errors[name] = float(np.std(values, ddof=1) / np.sqrt(len(values)))
        print(f"{name:24} {figures[name]:6.3f}  {errors[name]:.3f}")
    setup = {
        "base": arguments.base,
        "shards": SHARDS,
        "starts": arguments.starts,
        "turns_a_start": arguments.turns,
        "seconds_a_turn": arguments.seconds,
        "rows_a_feature": arguments.rows,
        "quick": arguments.quick,
        **native_programs.machine(),
    }
    result = {"benchmark": "beside_base", "figures": figures, "setup": setup}
    print(json.dumps({**result, "standard_errors": errors}))


if __name__ == "__main__":
    main()
