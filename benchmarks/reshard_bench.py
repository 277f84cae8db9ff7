"""What it costs when slots move to another shard, and back.

    python benchmarks/reshard_bench.py
    python benchmarks/reshard_bench.py --only pause,training
    python benchmarks/reshard_bench.py --recovery-folder /mnt/disk

Two shards have a table of rows with Adagrad. Its slots move as by `persia reshard`: a
third shard joins, and gets a third of the slots, then leaves again. All processes are
on this machine. It is measured, in this order:

    memory      the peak of all shards' resident memory during the first moves
    bytes       the bytes of rows that a move without other load sends
    throughput  their bytes per second, over those of a copy over TCP on loopback,
                alternating
    pause       the latencies of a training lookup, and of an update, that two processes
                send at a steady rate: one to ids whose slots move, all of which occur
                in each request, the other to ids whose slots stay
    training    steps per second of a small click model during a move, over those
                before and after it

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import native_programs
import numpy as np
from processes import (
    cpu_seconds,
    peak_memory_mb,
    reset_peak_memory,
    resident_mb,
    wait_until_idle,
)
from reshard_cluster import FEW, MANY, Moved, MovingCluster, running_cluster
from reshard_probe import Probe
from reshard_training import train
from tcp_copy import copy_seconds
from w1_model import versions

Figures = dict[str, float]
Details = dict[str, Any]

GOALS = {
    "memory_extra_over_moved_rows_there": "<= 0.05",
    "memory_extra_over_moved_rows_back": "<= 0.05",
    "bytes_over_moved_rows": "<= 1.2",
    "throughput_over_tcp": ">= 0.3",
    "moving_lookup_p99_added_ms": "<= 50",
    "moving_update_p99_added_ms": "<= 50",
    "staying_lookup_p99_added_ms": "about 0",
    "staying_update_p99_added_ms": "about 0",
    "training_during_over_without": ">= 0.8",
}
MEMORY_IS_OF = """\
memory: MB (2^20 bytes) of resident memory of each shard: at rest before the move
(VmRSS), the peak during it (VmHWM, reset before), and at rest after it. Extra is by how
much the peaks of all shards exceed their rests, less the bytes of the rows that moved
(id, weights, optimizer state): old and new owner both have these until they are handed
over. So extra includes their index, buffers, and memory that is held in reserve."""
_MB = 2**20


def measure_memory(
    cluster: MovingCluster, arguments: argparse.Namespace
) -> tuple[Figures, Details]:
    """Moves slots to the third shard, which had no rows yet, and back."""
    figures: Figures = {}
    details: Details = {}

    def settle() -> list[float]:
        wait_until_idle(cluster.pids, most_seconds=arguments.idle_seconds)
        return [resident_mb(pid) for pid in cluster.pids]

    rest = settle()
    for way, shards in (("there", MANY), ("back", FEW)):
        for pid in cluster.pids:
            reset_peak_memory(pid)
        moved_mb = cluster.move(shards).rows * cluster.row_bytes / _MB
        peak = [peak_memory_mb(pid) for pid in cluster.pids]
        after = settle()
        extra = sum(peak) - sum(rest) - moved_mb
        figures[f"memory_extra_over_moved_rows_{way}"] = extra / moved_mb
        all_mb = len(cluster.ids) * cluster.row_bytes / _MB
        figures[f"memory_extra_over_all_rows_{way}"] = extra / all_mb
        details[way] = {"rest_mb": rest, "peak_mb": peak, "after_mb": after}
        details[f"moved_rows_mb_{way}"] = moved_mb
        rest = after
    return figures, details


def measure_bytes(
    cluster: MovingCluster, arguments: argparse.Namespace
) -> tuple[Figures, Details]:
    """Moves slots while nothing else happens."""
    del arguments
    moves = cluster.there_and_back()
    figures = bytes_figures(cluster, moves)
    figures["moved_rows_over_all_rows"] = max(
        moved.progress.rows / len(cluster.ids) for moved in moves
    )
    return figures, {}


def bytes_figures(cluster: MovingCluster, moves: Sequence[Moved]) -> Figures:
    """Returns the bytes that moves sent, over those of the rows that had to move."""
    ratios = [moved.progress.bytes / moved.rows / cluster.row_bytes for moved in moves]
    return {"bytes_over_moved_rows": max(ratios)}


def measure_throughput(
    cluster: MovingCluster, arguments: argparse.Namespace
) -> tuple[Figures, Details]:
    """Moves slots, and copies as many bytes over TCP, alternating."""
    moves, copies, cpu = [], [], []
    for turn in range(2 * arguments.rounds):
        used = sum(map(cpu_seconds, cluster.pids))
        moved = cluster.move(FEW if turn % 2 else MANY)
        sent = moved.progress.bytes
        cpu.append((sum(map(cpu_seconds, cluster.pids)) - used) / sent)
        moves.append(sent / moved.seconds)
        copies.append(sent / copy_seconds(sent))
    ratios = [move / copy for move, copy in zip(moves, copies)]
    figures = {
        "throughput_over_tcp": statistics.median(ratios),
        "move_mb_a_second": statistics.median(moves) / _MB,
        "tcp_mb_a_second": statistics.median(copies) / _MB,
        # Of all shards; other work on the machine affects it least.
        "move_cpu_seconds_a_gb": statistics.median(cpu) * 2**30,
    }
    return figures, {"ratios": ratios}


def measure_pause(
    cluster: MovingCluster, arguments: argparse.Namespace
) -> tuple[Figures, Details]:
    """Moves slots while two processes look rows up and update them."""
    moving, staying = cluster.moving_and_staying(arguments.rounds)
    ids = {"moving": moving, "staying": staying}
    with running_probes(cluster, ids, arguments) as probes:
        before, moves = [], []
        for turn in range(2 * arguments.rounds):
            begin = time.monotonic()
            time.sleep(arguments.seconds)
            before.append((begin, time.monotonic()))
            moves.append(cluster.move(FEW if turn % 2 else MANY))
        sent = {name: probe.end() for name, probe in probes.items()}
    during = [(moved.begin, moved.end) for moved in moves]
    figures, latencies = pause_figures(sent, before, during)
    figures["most_held_ms"] = 1e3 * max(moved.progress.most_held for moved in moves)
    figures["seconds_of_a_move_under_requests"] = statistics.median(
        moved.seconds for moved in moves
    )
    return figures, {"latencies": latencies, **bytes_figures(cluster, moves)}


@contextlib.contextmanager
def running_probes(
    cluster: MovingCluster, ids: dict[str, np.ndarray], arguments: argparse.Namespace
) -> Iterator[dict[str, Probe]]:
    """Runs a probe for each set of ids, all of which are warm."""
    with contextlib.ExitStack() as stack:
        probes = {}
        for name, own in ids.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            probe = Probe(
                *(cluster.addresses[:FEW], cluster.dim, own),
                *(arguments.request_ids, arguments.rate, folder),
            )
            probes[name] = stack.enter_context(probe)
        for probe in probes.values():
            probe.wait_until_warm()
        yield probes


Window = tuple[float, float]


def pause_figures(
    sent: dict[str, np.ndarray], before: Sequence[Window], during: Sequence[Window]
) -> tuple[Figures, dict[str, Figures]]:
    """Returns by how much the latencies of each probe grew, and the latencies.

    Args:
        sent: What each probe returned.
        before: The begin and the end of times without a move.
        during: The same of the moves.

    Raises:
        ValueError: if a probe sent nothing in one of the two kinds of time.
    """
    figures: Figures = {}
    latencies = {}
    for name, requests in sent.items():
        of_times = {
            "before": overlapping(requests, before),
            "during": overlapping(requests, during),
        }
        for column, what in ((1, "lookup"), (2, "update")):
            for when, some in of_times.items():
                latencies[f"{name} {what} {when}"] = _latencies(some[:, column])
            quiet, busy = (
                latencies[f"{name} {what} {when}"] for when in ("before", "during")
            )
            for which in ("p50", "p99", "max"):
                added = busy[f"{which}_ms"] - quiet[f"{which}_ms"]
                figures[f"{name}_{what}_{which}_added_ms"] = added
    return figures, latencies


def overlapping(requests: np.ndarray, times: Sequence[Window]) -> np.ndarray:
    """Returns the requests, of a probe, that were under way in any of some times."""
    begins, ends = requests[:, 0], requests.sum(axis=1)
    some = np.zeros(len(requests), bool)
    for begin, end in times:
        some |= (ends >= begin) & (begins <= end)
    if not some.any():
        raise ValueError("no request was under way: measure for longer")
    return requests[some]


def _latencies(seconds: np.ndarray) -> Figures:
    p50, p99 = 1e3 * np.percentile(seconds, [50, 99])
    most = 1e3 * float(seconds.max())
    return {"p50_ms": p50, "p99_ms": p99, "max_ms": most, "requests": len(seconds)}


def measure_training(
    cluster: MovingCluster, arguments: argparse.Namespace
) -> tuple[Figures, Details]:
    """Moves slots while a model is trained."""
    trained = train(cluster, arguments.rounds, arguments.seconds, arguments.batch)
    figures = {
        "training_during_over_without": statistics.median(trained.ratios),
        "steps_per_second_without": statistics.median(trained.rates),
        "seconds_of_a_move_under_training": statistics.median(
            moved.seconds for moved in trained.moves
        ),
    }
    held = 1e3 * max(moved.progress.most_held for moved in trained.moves)
    sent = bytes_figures(cluster, trained.moves)
    return figures, {"ratios": trained.ratios, "most_held_ms": held, **sent}


MEASURES: dict[str, Callable[..., tuple[Figures, Details]]] = {
    "memory": measure_memory,
    "bytes": measure_bytes,
    "throughput": measure_throughput,
    "pause": measure_pause,
    "training": measure_training,
}


def run(
    arguments: argparse.Namespace, recovery_folder: Path | None
) -> tuple[Figures, dict[str, Details]]:
    """Returns the figures, and details of each measurement."""
    figures: Figures = {}
    details = {}
    with running_cluster(arguments.rows, arguments.dim, recovery_folder) as cluster:
        for name, measure in MEASURES.items():
            if name in arguments.only:
                some, details[name] = measure(cluster, arguments)
                figures.update(some)
                show(name, some, details[name])
    return figures, details


def show(name: str, figures: Figures, details: Details) -> None:
    """Prints what a measurement found."""
    if name == "memory":
        print(MEMORY_IS_OF)
        for way in ("there", "back"):
            for what, of_shards in details[way].items():
                listed = " ".join(f"{mb:8.1f}" for mb in of_shards)
                print(f"  {way:6} {what:9} {listed}")
    for what, latencies in details.get("latencies", {}).items():
        print(
            f"  {what:22} p50 {latencies['p50_ms']:8.2f} ms  "
            f"p99 {latencies['p99_ms']:8.2f} ms  max {latencies['max_ms']:8.2f} ms  "
            f"of {latencies['requests']}"
        )
    for figure, value in figures.items():
        goal = f"  goal: {GOALS[figure]}" if figure in GOALS else ""
        print(f"{figure:36} {value:10.4g}{goal}", flush=True)


def chosen(text: str) -> list[str]:
    """Returns the measurements that `--only` names."""
    names = text.split(",")
    for name in names:
        if name not in MEASURES:
            raise argparse.ArgumentTypeError(
                f"each must be one of {', '.join(MEASURES)}. Received: {name!r}"
            )
    return names


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--only", type=chosen, default=list(MEASURES), help="e.g. pause,training (all)")
    add("--rows", type=int, default=4_000_000, help="(%(default)s)")
    add("--dim", type=int, default=32, help="weights of a row (%(default)s)")
    add("--rounds", type=int, default=5, help="moves there and back (%(default)s)")
    add("--seconds", type=float, default=2.0, help="without a move (%(default)s)")
    add("--rate", type=float, default=50.0, help="requests a second (%(default)s)")
    add("--request-ids", type=int, default=256, help="ids of a request (%(default)s)")
    add("--batch", type=int, default=1024, help="examples of a step (%(default)s)")
    add("--recovery-folder", help="a folder for recovery logs (shards have none)")
    arguments = parser.parse_args()
    arguments.idle_seconds = 60.0
    if arguments.quick:
        arguments.rows, arguments.rounds, arguments.seconds = 20_000, 1, 0.5
        arguments.batch, arguments.idle_seconds = 64, 0.0
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        folder = None
        if arguments.recovery_folder is not None:
            made = tempfile.TemporaryDirectory(dir=arguments.recovery_folder)
            folder = Path(stack.enter_context(made))
        figures, details = run(arguments, folder)
    setup = {
        **vars(arguments),
        "details": details,
        **versions(),
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        # Includes this benchmark's own load.
        "load_average_after": round(os.getloadavg()[0], 2),
        "seed": 0,
        **native_programs.machine(),
    }
    print(json.dumps({"benchmark": "reshard", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
