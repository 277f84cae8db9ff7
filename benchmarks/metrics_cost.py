"""What metrics cost a training step.

    python benchmarks/metrics_cost.py --write

One program trains the click model with two shards. In turn, its metrics and those of
the shards are read once per `--interval` seconds, as by Prometheus, or not at all. The
processor time that the program and the shards take per step is compared, and so is the
speed: other work on the machine affects the former least. What reads the metrics is a
process of its own, whose time does not count. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import native_programs
import workload_w1
from processes import cpu_seconds
from results_file import write_section
from shard_processes import running_shards

SHARDS = 2
WARM_UP_STEPS = 20
_HEADING = """## Cost of metrics

`benchmarks/metrics_cost.py --write`: a step while metrics are read, relative to a step
while they are not."""

# Reads URLs until it is ended.
_READER = """
import sys, time, urllib.request
while True:
    began = time.monotonic()
    for url in sys.argv[2:]:
        with urllib.request.urlopen(url, timeout=10) as reply:
            reply.read()
    time.sleep(max(0.0, float(sys.argv[1]) - (time.monotonic() - began)))
"""


class Window(NamedTuple):
    """One window of training."""

    steps_per_second: float
    cpu_ms_per_step: float


class Turn(NamedTuple):
    """Windows beside each other."""

    read: Window
    unread: Window


@contextlib.contextmanager
def reading(urls: Sequence[str], interval: float) -> Iterator[None]:
    """Reads URLs at intervals, in another process, until the block ends."""
    command = [sys.executable, "-c", _READER, str(interval), *urls]
    process = subprocess.Popen(command)
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError("the metrics could not be read: see the error above")
    finally:
        process.kill()
        process.wait()


def run(arguments: argparse.Namespace) -> list[Turn]:
    """Trains; returns the windows, turn by turn."""
    import tensorflow as tf
    import w1_model

    import persia_tf as ptf

    data = workload_w1.load(arguments.batches, arguments.batch)
    dataset = tf.data.Dataset.from_tensor_slices(
        ((data.ids(), data.dense), data.labels)
    ).repeat()
    with running_shards(SHARDS, ["--metrics-port=0"]) as shards:
        cluster = ptf.Cluster([shard.address for shard in shards])
        model = w1_model.make_persia(workload_w1.vocabularies(), cluster)
        batches = ptf.data.prefetch(dataset, model)
        pids = [os.getpid(), *(shard.pid for shard in shards)]

        def train() -> Window:
            windows = w1_model.Windows(1, arguments.seconds, WARM_UP_STEPS)
            before = sum(map(cpu_seconds, pids))
            model.fit(batches, steps_per_epoch=10**9, verbose=0, callbacks=[windows])
            cluster.flush()
            used = sum(map(cpu_seconds, pids)) - before
            [(steps, seconds)] = windows.measured
            return Window(steps / seconds, 1e3 * used / windows.total_steps)

        with ptf.metrics.serve(port=0) as endpoint:
            urls = [f"http://127.0.0.1:{shard.metrics_port}/" for shard in shards]
            urls.append(endpoint.url)

            def turn(reads_first: bool) -> Turn:
                windows: dict[bool, Window] = {}
                for reads in (reads_first, not reads_first):
                    with contextlib.ExitStack() as stack:
                        if reads:
                            stack.enter_context(reading(urls, arguments.interval))
                        windows[reads] = train()
                return Turn(windows[True], windows[False])

            train()  # Creates rows, which later windows find.
            return [turn(bool(index % 2)) for index in range(arguments.turns)]


def figures_of(turns: Sequence[Turn]) -> dict[str, float]:
    """Returns medians over the turns."""
    speed = [
        turn.read.steps_per_second / turn.unread.steps_per_second for turn in turns
    ]
    cpu = [turn.read.cpu_ms_per_step / turn.unread.cpu_ms_per_step for turn in turns]
    return {
        "cpu_ratio": statistics.median(cpu),
        "cpu_ratio_least": min(cpu),
        "cpu_ratio_most": max(cpu),
        "speed_ratio": statistics.median(speed),
        "cpu_ms_per_step": statistics.median(t.unread.cpu_ms_per_step for t in turns),
        "steps_per_second": statistics.median(t.unread.steps_per_second for t in turns),
    }


def markdown(figures: dict[str, float], setup: dict[str, Any]) -> str:
    """Returns the section of RESULTS.md."""
    lines = [
        *("| figure | |", "|---|---|"),
        f"| processor time of a step | {figures['cpu_ratio']:.3f} times "
        f"({figures['cpu_ratio_least']:.3f} to {figures['cpu_ratio_most']:.3f}) |",
        f"| speed | {figures['speed_ratio']:.3f} times |",
        f"| metrics are read every | {setup['interval']:g} s |",
        f"| turns | {setup['turns']} of {setup['seconds']:g} s each way |",
        f"| batch | {setup['batch']} |",
    ]
    return f"{_HEADING}\n\n" + "\n".join(lines) + "\n"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--interval", type=float, default=1.0, help="seconds between two readings")
    add("--turns", type=int, default=9, help="turns (%(default)s)")
    add("--seconds", type=float, default=5.0, help="seconds per window (%(default)s)")
    add("--batch", type=int, default=4096)
    add("--write", action="store_true", help="write the figures to RESULTS.md")
    arguments = parser.parse_args()
    arguments.batches = 200
    if arguments.quick:
        arguments.turns, arguments.seconds, arguments.batch = 1, 0.2, 64
        arguments.batches = 20
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    figures = figures_of(run(arguments))
    setup = {
        "interval": arguments.interval,
        "turns": arguments.turns,
        "seconds": arguments.seconds,
        "batch": arguments.batch,
        "shards": SHARDS,
        "load_average_before": round(load, 2),
        "seed": 0,
        **native_programs.machine(),
    }
    if arguments.write:
        write_section("metrics_cost", markdown(figures, setup))
    print(json.dumps({"benchmark": "metrics_cost", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
