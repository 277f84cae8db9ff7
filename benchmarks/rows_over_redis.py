"""Rows per second of the lookup service (W2), over those of Redis on this machine.

    make redis                 # redis-server and libhiredis-dev, from Debian
    python benchmarks/rows_over_redis.py

Each request has 26 x 4096 ids of the click model; there are 10 million rows of 16
float32. Our side sends its requests through a RemoteService to two `persia ps` on two
connections; Redis is asked by pipelined MGET. Both get the same ids without duplicates.
For `rows_over_redis_with_dedupe`, our side gets the ids with duplicates, which it
removes itself, while Redis still gets the ids without duplicates. All run on this
machine, in turn. Figures are medians, or ratios of medians. The last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import native_programs
import numpy as np
import workload_w1
from processes import wait_until_idle
from shard_processes import running_shards

SHARDS = 2
START_SECONDS = 30
Round = dict[str, float]


class RoundsProgram:
    """A native program that runs rounds of requests on demand."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process
        self._reply()

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, kind: str, threads: int, in_flight: int, seconds: float) -> Round:
        print(kind, threads, in_flight, seconds, file=self._process.stdin, flush=True)
        return self._reply()

    def _reply(self) -> Round:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args[0]} ended: see its message above")
        return json.loads(line)


@contextlib.contextmanager
def running_program(command: Sequence[object]) -> Iterator[RoundsProgram]:
    """Runs a program until the block ends."""
    with subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield RoundsProgram(process)
        finally:
            process.kill()


@contextlib.contextmanager
def running_redis(folder: str) -> Iterator[tuple[int, int]]:
    """Runs a Redis without persistence; yields its process id and port."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("there is no redis-server: `make redis` installs it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--port", port, "--bind", "127.0.0.1", "--dir", folder]
    command += ["--save", "", "--appendonly", "no", "--loglevel", "warning"]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL
    )
    try:
        _wait_for_port(port, process)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def _wait_for_port(port: int, process: subprocess.Popen) -> None:
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if process.poll() is not None or time.monotonic() > give_up:
                raise SystemExit("redis-server did not start") from None
            time.sleep(0.01)


def write_workload(path: Path, ranks: np.ndarray, most_rows: int) -> float:
    """Writes the file that benchmarks/support/workload_file.h describes.

    Args:
        path: The file to write.
        ranks: Ranks of the click model, `(requests, batch, 26)`.
        most_rows: The maximum number of rows per feature.

    Returns:
        The mean number of distinct ids per request.
    """
    sizes = np.minimum(workload_w1.vocabularies(), most_rows)
    ranks = ranks % sizes
    ids = [workload_w1.ids_of(np.arange(n), np.array(f)) for f, n in enumerate(sizes)]
    begins = np.cumsum(sizes) - sizes
    places = (ranks + begins).transpose(0, 2, 1)
    header = [len(ranks), len(sizes), ranks.shape[1], *sizes]
    with path.open("wb") as file:
        file.write(np.array(header, np.uint64).tobytes())
        for column in ids:
            file.write(column.tobytes())
        file.write(places.astype(np.uint32).tobytes())
    return float(np.mean([len(np.unique(request)) for request in places]))


def measure(arguments: argparse.Namespace) -> tuple[Round, dict[str, object]]:
    """Runs everything; returns the figures and the setup."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        workload = Path(folder) / "workload"
        requests = 4 if arguments.quick else arguments.requests
        most_rows = 2000 if arguments.quick else 1 << 62
        ranks = workload_w1.load().ranks[:requests]
        unique = write_workload(workload, ranks, most_rows)
        shards = stack.enter_context(running_shards(SHARDS))
        addresses = ",".join(shard.address for shard in shards)
        ours = stack.enter_context(
            running_program(
                [native_programs.build("lookup_bench"), workload]
                + [arguments.tables, addresses]
            )
        )
        redis_pid, port = stack.enter_context(running_redis(folder))
        redis = stack.enter_context(
            running_program(
                [native_programs.build("redis_bench"), workload, port, arguments.keys]
            )
        )
        wait_until_idle([redis_pid, *(shard.pid for shard in shards)])
        rounds = _run_rounds(arguments, ours, redis)
    setup = {
        "requests": requests,
        "ids_a_request": workload_w1.FEATURES * workload_w1.BATCH,
        "unique_ids_a_request": unique,
        "rows": int(np.minimum(workload_w1.vocabularies(), most_rows).sum()),
        "dim": workload_w1.DIM,
        "shards": SHARDS,
        "tables": arguments.tables,
        "in_flight": arguments.in_flight,
        "keys_a_mget": arguments.keys,
        "rounds": arguments.rounds,
        "seconds_a_round": arguments.seconds,
        "redis": _redis_version(),
        "seed": 0,
        **native_programs.machine(),
    }
    return figures(rounds), setup


def _run_rounds(
    arguments: argparse.Namespace, ours: RoundsProgram, redis: RoundsProgram
) -> dict[str, list[Round]]:
    """Runs every kind of round in turn, repeatedly; returns the rounds by kind."""
    deep = arguments.in_flight
    plan = {
        "ours": (ours, "remote", 1, deep),
        "redis": (redis, "mget", 1, deep),
        "ours_with_dedupe": (ours, "remote_dedupe", 1, deep),
        "ours_two_clients": (ours, "remote", 2, deep),
        "redis_two_clients": (redis, "mget", 2, deep),
        "ours_one_at_a_time": (ours, "remote", 1, 1),
        "redis_one_at_a_time": (redis, "mget", 1, 1),
        "dedupe": (ours, "dedupe", 1, 1),
        "gather": (ours, "gather", 1, 1),
        "gather_two_threads": (ours, "gather", 2, 1),
        "transport": (ours, "transport", 1, 1),
        "transport_two_connections": (ours, "transport", 2, 1),
    }
    rounds: dict[str, list[Round]] = {name: [] for name in plan}
    for _ in range(arguments.rounds):
        for name, (program, *what) in plan.items():
            rounds[name].append(program.run(*what, arguments.seconds))
    return rounds


def figures(rounds: dict[str, list[Round]]) -> Round:
    """Returns the benchmark's figures: medians, and ratios of medians."""

    def median(name: str, what: str = "rows_per_second") -> float:
        return statistics.median(one[what] for one in rounds[name])

    made = {
        "rows_over_redis": median("ours") / median("redis"),
        "rows_over_redis_with_dedupe": median("ours_with_dedupe") / median("redis"),
        "rows_over_redis_two_clients": median("ours_two_clients")
        / median("redis_two_clients"),
        "rows_over_gather": median("ours") / median("gather"),
        "rows_over_transport": median("ours") / median("transport_two_connections"),
    }
    for name in rounds:
        made[f"{name}_mrows_per_second"] = median(name) / 1e6
    for name in ("ours_one_at_a_time", "redis_one_at_a_time"):
        for what in ("p50_ms", "p99_ms"):
            made[f"{name}_{what}"] = median(name, what)
    made["ours_mb_per_second"] = median("ours") * workload_w1.DIM * 4 / 1e6
    return made


def _redis_version() -> str:
    said = subprocess.run(
        ["redis-server", "--version"], stdout=subprocess.PIPE, text=True
    )
    return next(word[2:] for word in said.stdout.split() if word.startswith("v="))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--rounds", type=int, default=7, help="figures are medians of these")
    add("--seconds", type=float, default=1.0, help="seconds per round")
    add("--requests", type=int, default=100, help="distinct ones, used in a cycle")
    add(
        "--tables",
        type=int,
        choices=(1, 26),
        default=1,
        help="tables for the rows; 26: one per feature (%(default)s)",
    )
    add("--in-flight", type=int, default=4, help="requests in flight, per side")
    add("--keys", type=int, default=1000, help="keys per MGET (25 per request)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 0.1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    made, setup = measure(arguments)
    for name, value in made.items():
        print(f"{name:44} {value:10.4g}")
    setup["load_average_before"] = round(load, 2)
    result = {"benchmark": "rows_over_redis", "figures": made, "setup": setup}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    sys.exit(main())
