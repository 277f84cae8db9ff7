"""The speed-up by a second worker: two workers, on a core each, over one on one core.

    python benchmarks/worker_scaling.py
    python benchmarks/worker_scaling.py --write  # And to RESULTS.md.

Each worker trains the click model on batches of its own, under
`ptf.distribute.MultiWorkerMirroredStrategy`, pinned to a core of its own; the shards
with the rows are not pinned. Sides take turns, A B A B, each with new shards and new
processes:

    two_workers_over_one    samples per second of both together, over those of one
    cpus                    processor time over elapsed time, of each process
    cpu_us_per_sample       processor time of all processes per sample, in
                            microseconds, which other work on the machine affects least

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from native_programs import machine
from results_file import write_section
from shard_processes import running_shards
from tf_config import environment_of_worker

from persia_tf.processes.free_ports import free_ports

_WORKER = Path(__file__).absolute().parent / "scaled_worker.py"
SIDES = {"one_worker": 1, "two_workers": 2}
_RUN_SECONDS = 1800


def run_side(count: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains with `count` workers.

    Returns the samples per second and the processor use of each process.
    """
    with running_shards(arguments.shards) as shards:
        cluster = {
            "worker": [f"127.0.0.1:{port}" for port in free_ports(count)],
            "ps": [shard.address for shard in shards],
        }
        workers = [
            start_worker(
                index,
                cluster,
                arguments,
                # Only one worker measures the shards, since all workers have the same
                # windows.
                [shard.pid for shard in shards] if index == 0 else [],
            )
            for index in range(count)
        ]
        try:
            said = [last_line(worker) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    samples = count * arguments.batch * arguments.steps
    cpus: dict[str, float] = {}
    for of_worker in said:
        for name in of_worker["windows"][0]["cpus"]:
            cpus[name] = statistics.median(
                window["cpus"][name] for window in of_worker["windows"]
            )
    return {
        "samples_per_second": statistics.median(
            samples / window["seconds"] for window in said[0]["windows"]
        ),
        "cpus": cpus,
        "peak_memory_mb": [of_worker["peak_memory_mb"] for of_worker in said],
        "prefetch_hits": [of_worker["prefetch_hits"] for of_worker in said],
        "versions": said[0]["versions"],
    }


def start_worker(
    index: int,
    cluster: Mapping[str, Sequence[str]],
    arguments: argparse.Namespace,
    shard_pids: Sequence[int],
) -> subprocess.Popen:
    options: dict[str, Any] = {
        "--core": arguments.cores[index],
        "--batches": arguments.batches,
        "--batch": arguments.batch,
        "--windows": arguments.windows,
        "--steps": arguments.steps,
    }
    command = [sys.executable, _WORKER, *sum(options.items(), ())]
    command += ["--shard-pids", *shard_pids]
    return subprocess.Popen(
        [str(part) for part in command],
        env=environment_of_worker(index, cluster),
        stdout=subprocess.PIPE,
        text=True,
    )


def last_line(worker: subprocess.Popen) -> dict[str, Any]:
    output, _ = worker.communicate(timeout=_RUN_SECONDS)
    if worker.returncode:
        raise SystemExit(f"a worker ended with status {worker.returncode}")
    return json.loads(output.splitlines()[-1])


def figures_of(turns: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Returns the figures computed from the turns of each side."""

    def median(side: str) -> float:
        return statistics.median(turn["samples_per_second"] for turn in turns[side])

    ratios = [
        two["samples_per_second"] / one["samples_per_second"]
        for one, two in zip(turns["one_worker"], turns["two_workers"])
    ]
    return {
        "two_workers_over_one": statistics.median(ratios),
        "two_workers_over_one_least": min(ratios),
        "two_workers_over_one_most": max(ratios),
        **{f"{side}_samples_per_second": median(side) for side in SIDES},
        "cpus": {
            side: {
                name: statistics.median(turn["cpus"][name] for turn in turns[side])
                for name in turns[side][0]["cpus"]
            }
            for side in SIDES
        },
        "cpu_us_per_sample": {
            side: statistics.median(
                1e6 * sum(turn["cpus"].values()) / turn["samples_per_second"]
                for turn in turns[side]
            )
            for side in SIDES
        },
    }


def markdown(figures: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    """Returns the section of RESULTS.md."""
    names = list(figures["cpus"]["two_workers"])
    lines = [
        "## A second worker",
        "",
        "`benchmarks/worker_scaling.py --write`: two workers, each on its own core,",
        f"train {figures['two_workers_over_one']:.2f} times as many samples a second "
        f"as one ({figures['two_workers_over_one_least']:.2f} to "
        f"{figures['two_workers_over_one_most']:.2f} in {setup['turns']} turns). The",
        "columns of processes are their processor time over elapsed time:",
        "",
        f"| workers | samples a second | {' | '.join(names)} | all "
        "| µs a sample, all |",
        f"|{'---|' * (len(names) + 4)}",
    ]
    for side, count in SIDES.items():
        used = figures["cpus"][side]
        cells = [f"{used[name]:.2f}" if name in used else "" for name in names]
        rate = figures[f"{side}_samples_per_second"]
        cells.append(f"{sum(used.values()):.2f}")
        cells.append(f"{figures['cpu_us_per_sample'][side]:.1f}")
        lines.append(f"| {count} | {rate:,.0f} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Set-up: {setup['cores']} cores, on which {setup['shards']} shards run beside "
        "the workers; the click model,",
        f"batches of {setup['batch']} a worker, staleness 4; medians of "
        f"{setup['windows']} windows of {setup['steps']} steps.",
        f"TensorFlow {setup['tensorflow']}, Keras {setup['keras']}. Load average "
        f"before: {setup['load_average_before']}; at the end: "
        f"{setup['load_average_after']}.",
    ]
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--turns", type=int, default=3, help="turns of each side (%(default)s)")
    add("--windows", type=int, default=4, help="windows per turn (%(default)s)")
    add("--steps", type=int, default=100, help="steps per window (%(default)s)")
    add("--batch", type=int, default=4096, help="batch per worker (%(default)s)")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    arguments.batches, arguments.shards = 200, 2
    arguments.cores = sorted(os.sched_getaffinity(0))[:2]
    if len(arguments.cores) < 2:
        parser.error("two workers need two cores")
    if arguments.quick:
        arguments.turns, arguments.windows, arguments.steps = 1, 1, 5
        arguments.batches, arguments.batch = 20, 256
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    turns: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for turn in range(arguments.turns):
        for side, count in SIDES.items():
            turns[side].append(run_side(count, arguments))
            print(f"turn {turn + 1}: {side}: {turns[side][-1]}", flush=True)
    figures = figures_of(turns)
    names = ("turns", "windows", "steps", "batch", "shards")
    setup = {
        **{name: getattr(arguments, name) for name in names},
        **turns["one_worker"][0]["versions"],
        "measured": turns,
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        "load_average_after": round(os.getloadavg()[0], 2),
        "seed": 0,
        **machine(),
    }
    if arguments.write:
        write_section("worker_scaling", markdown(figures, setup))
    result = {"benchmark": "worker_scaling", "figures": figures, "setup": setup}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
