"""What the recovery of shards, and their standbys, cost: rates with over those without.

    python benchmarks/recovery_bench.py --write
    python benchmarks/recovery_bench.py --folder /mnt/disk
    python benchmarks/recovery_bench.py --sides standby_self,standby_both --rows 300000

Filling all shards with all rows takes about ten minutes, and 16 GB of memory: `--sides`
and `--rows` make both smaller.

There are six pairs of shards: without recovery, with `--recovery checkpoint`, with
`--recovery log` and either `--log-sync system` or `--log-sync device`, and two like the
former whose shards have a standby each, on the same machine, with `--acknowledge self`
and `--acknowledge standby`. All shards run the whole time, but only one pair works at a
time. Three rates of each pair are measured, in turn:

    training  steps per second of the click model, all of whose rows exist
    lookups   rows per second of training lookups of 26 x 4096 ids, 4 requests in flight
    updates   rows per second of updates of as many ids, 4 requests in flight

The processor time that the program, the shards and their standbys take per training
step is measured too; other work on the machine affects it least. Each window is
compared with the window without recovery in the same turn. After a window, the
remaining data is synced to the device and the shards finish their background work, so
that no window pays for another. In each turn, dd writes to the same folder. The last
line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import native_programs
import numpy as np
import workload_w1
from checkpoint_bench import SHARDS, WARM_UP_STEPS, dd_seconds, fill
from processes import cpu_seconds, wait_until_idle
from results_file import write_section
from rows_over_redis import RoundsProgram, running_program, write_workload
from shard_processes import running_shards

PLAIN = "none"
SIDES = {
    PLAIN: (),
    "checkpoint": ("--recovery", "checkpoint"),
    "log_system": ("--recovery", "log", "--log-sync", "system"),
    "log_device": ("--recovery", "log", "--log-sync", "device"),
    "standby_self": ("--log-sync", "system", "--acknowledge", "self"),
    "standby_both": ("--log-sync", "system", "--acknowledge", "standby"),
}
WITH_STANDBYS = ("standby_self", "standby_both")
REQUESTS = {"lookups": "remote", "updates": "remote_update"}
MEASURES = ("training", *REQUESTS)
IN_FLIGHT = 4
TABLES = 1  # Per request.
Rates = dict[str, float]  # By side.


class Side(NamedTuple):
    """The shards of one kind, and the programs and objects that use them."""

    folder: Path  # Contains a folder of each shard.
    pids: list[int]
    rounds: RoundsProgram
    cluster: Any
    model: Any
    dataset: Any


class Window(NamedTuple):
    """The measurements of one window; all but the rate are per step or request."""

    rate: float  # Steps or rows per second.
    cpu_seconds: float  # Of this program and the shards.
    log_bytes: float


class Bench:
    """Runs all sides within a `with` block.

    Args:
        arguments: The command line's options.
        folder: The folder for everything that is written.
    """

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self._arguments = arguments
        self._folder = folder
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Bench:
        import tensorflow as tf

        arguments = self._arguments
        data = workload_w1.load(arguments.batches, arguments.batch)
        self._dataset = tf.data.Dataset.from_tensor_slices(
            ((data.ids(), data.dense), data.labels)
        ).repeat()
        self._workload = self._folder / "workload"
        write_workload(
            self._workload, data.ranks[: arguments.requests], arguments.request_rows
        )
        with contextlib.ExitStack() as stack:
            self.sides = {
                name: self._start(name, SIDES[name], stack) for name in arguments.sides
            }
            self._stack = stack.pop_all()
        self._settle(*self.sides.values())
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def measure(self, what: str, name: str) -> Window:
        """Measures one window of a side."""
        side = self.sides[name]
        pids = [os.getpid(), *side.pids]
        logged = log_sizes(side.folder)
        used = sum(map(cpu_seconds, pids))
        rate, count = self._train(side) if what == "training" else self._ask(side, what)
        grown = growth(logged, log_sizes(side.folder))
        self._settle(side)
        used = sum(map(cpu_seconds, pids)) - used
        return Window(rate, used / count, grown / count)

    def _start(
        self, name: str, options: Sequence[str], stack: contextlib.ExitStack
    ) -> Side:
        import w1_model

        import persia_tf as ptf

        folder = self._folder / name
        common = ("--checkpoint-root", str(self._folder / "checkpoints"))
        shards = []
        for index in range(self._arguments.shards):
            own = [f"--recovery-folder={folder / str(index)}"] if options else []
            shards += stack.enter_context(running_shards(1, [*common, *options, *own]))
        addresses = [shard.address for shard in shards]
        if name in WITH_STANDBYS:
            for index, address in enumerate(addresses):
                own = [f"--recovery-folder={folder / f'standby-{index}'}"]
                own.append(f"--standby-of={address}")
                shards += stack.enter_context(
                    running_shards(1, [*common, *options, *own])
                )
        # Started before other rows are created: the program checks the number of rows.
        rounds = stack.enter_context(
            running_program(
                [native_programs.build("lookup_bench"), self._workload]
                + [TABLES, ",".join(addresses)]
            )
        )
        sizes = [min(size, self._arguments.rows) for size in workload_w1.vocabularies()]
        cluster = ptf.Cluster(addresses)
        model = w1_model.make_persia(sizes, cluster)
        fill(cluster, sizes)
        pids = [shard.pid for shard in shards]
        dataset = ptf.data.prefetch(self._dataset, model)
        return Side(folder, pids, rounds, cluster, model, dataset)

    def _train(self, side: Side) -> tuple[float, int]:
        import w1_model

        windows = w1_model.Windows(1, self._arguments.seconds, WARM_UP_STEPS)
        side.model.fit(
            side.dataset, steps_per_epoch=10**9, verbose=0, callbacks=[windows]
        )
        side.cluster.flush()
        [(steps, seconds)] = windows.measured
        return steps / seconds, windows.total_steps

    def _ask(self, side: Side, what: str) -> tuple[float, int]:
        said = side.rounds.run(
            REQUESTS[what],
            threads=1,
            in_flight=IN_FLIGHT,
            seconds=self._arguments.seconds,
        )
        return said["rows_per_second"], said["requests"]

    def _settle(self, *sides: Side) -> None:
        os.sync()
        pids = [pid for side in sides for pid in side.pids]
        wait_until_idle(pids, most_seconds=0 if self._arguments.quick else 60)


def log_sizes(folder: Path) -> dict[Path, int]:
    """Returns the sizes of the segments of all logs below a folder.

    Segments may vanish meanwhile: a new log base makes them unnecessary.
    """
    sizes = {}
    for segment in folder.glob("*/log-*"):
        with contextlib.suppress(FileNotFoundError):
            sizes[segment] = segment.stat().st_size
    return sizes


def growth(before: Mapping[Path, int], after: Mapping[Path, int]) -> int:
    """Returns by how much the segments that still exist have grown."""
    return sum(size - before.get(segment, 0) for segment, size in after.items())


def ratios(turns: Sequence[Rates]) -> dict[str, dict[str, float]]:
    """Returns the spread of each side's ratio to the plain side of the same turn."""
    spreads = {}
    for side in turns[0]:
        if side == PLAIN:
            continue
        of_turns = [turn[side] / turn[PLAIN] for turn in turns]
        spreads[side] = {
            "median": statistics.median(of_turns),
            "least": min(of_turns),
            "most": max(of_turns),
        }
    return spreads


def run(arguments: argparse.Namespace, folder: Path) -> tuple[dict, dict]:
    """Returns the figures, and the measurements that they are computed from."""
    turns = []
    dd_speeds = []
    with Bench(arguments, folder) as bench:
        for turn in range(arguments.turns):
            # Alternate the order, so that no side always follows the same one.
            sides = arguments.sides[:: 1 if turn % 2 == 0 else -1]
            turns.append(
                {
                    what: {side: bench.measure(what, side) for side in sides}
                    for what in MEASURES
                }
            )
            print(f"turn {turn + 1}: {turns[-1]}", flush=True)
            dd_speeds.append(
                arguments.dd_bytes / dd_seconds(folder, arguments.dd_bytes)
            )

    def all_turns(what: str, field: str) -> list[Rates]:
        return [
            {side: getattr(window, field) for side, window in turn[what].items()}
            for turn in turns
        ]

    rates = {what: all_turns(what, "rate") for what in MEASURES}
    rates["step_cpu_seconds"] = all_turns("training", "cpu_seconds")
    figures = {what: ratios(of_turns) for what, of_turns in rates.items()}
    logged = all_turns("training", "log_bytes")
    figures["log_bytes_a_step"] = {
        side: statistics.median(turn[side] for turn in logged)
        for side in arguments.sides
    }
    figures["dd_mb_a_second"] = statistics.median(dd_speeds) / 1e6
    return figures, {"rates": rates}


def markdown(figures: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    """Returns the section of RESULTS.md."""
    plain = {
        what: statistics.median(turn[PLAIN] for turn in turns)
        for what, turns in setup["rates"].items()
    }
    lines = [
        "## Cost of recovery",
        "",
        "`benchmarks/recovery_bench.py --write`: rates of two shards with `--recovery`",
        "or standbys over those of two without, in windows of the same turn: the "
        "median of "
        f"{setup['turns']} turns",
        "(least to greatest). Updates alone, as fast as they go, cost most: each row",
        "adds 72 bytes to the log, and at 1 GiB a snapshot of all rows replaces it.",
        "",
        "| shards | training | processor time a step | lookups alone | updates alone "
        "| log, MB a step |",
        "|---|---|---|---|---|---|",
        *(_row(figures, side) for side in figures["training"]),
        "",
        f"Set-up: {setup['cores']} cores, shards and training program on one machine;",
        f"{setup['rows']} rows of 16 float32 with Adagrad; windows of "
        f"{setup['seconds']} s; batches of",
        f"{setup['batch']} examples. Without recovery: {plain['training']:.1f} steps, "
        f"{plain['lookups'] / 1e6:.1f} million rows",
        f"looked up and {plain['updates'] / 1e6:.1f} million updated a second. dd with "
        f"fsync wrote {setup['dd_mb']}",
        f"MB at {figures['dd_mb_a_second']:.0f} MB a second. Load average "
        f"before: {setup['load_average_before']}; at the end: "
        f"{setup['load_average_after']}.",
    ]
    return "\n".join(lines)


def _row(figures: Mapping[str, Any], side: str) -> str:
    standbys = ", with standbys" if side in WITH_STANDBYS else ""
    cells = [f"`{' '.join(SIDES[side])}`{standbys}"]
    for what in ("training", "step_cpu_seconds", *REQUESTS):
        spread = figures[what][side]
        least_to_most = f"{spread['least']:.2f} to {spread['most']:.2f}"
        cells.append(f"{spread['median']:.2f} ({least_to_most})")
    cells.append(f"{figures['log_bytes_a_step'][side] / 1e6:.2f}")
    return f"| {' | '.join(cells)} |"


def _sides(text: str) -> list[str]:
    """Returns the sides that are named, and the one that they are compared with."""
    named = text.split(",")
    for name in named:
        if name not in SIDES:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(SIDES)}")
    return [side for side in SIDES if side == PLAIN or side in named]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--folder", help="a folder on the device to measure (the temporary one)")
    add("--turns", type=int, default=9, help="turns of each side (%(default)s)")
    add("--seconds", type=float, default=4.0, help="seconds per window (%(default)s)")
    add("--batch", type=int, default=4096)
    add("--rows", type=int, default=1 << 62, help="of each feature at most (all)")
    add("--sides", type=_sides, default=list(SIDES), help="of pairs, by comma (all)")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    arguments.batches = 200
    arguments.requests, arguments.request_rows = 100, 100_000
    arguments.shards, arguments.dd_bytes = SHARDS, 1 << 28
    if arguments.quick:
        arguments.turns, arguments.seconds, arguments.batch = 1, 0.2, 256
        arguments.batches, arguments.rows = 20, 2000
        arguments.requests, arguments.request_rows = 4, 2000
        arguments.shards, arguments.dd_bytes = 1, 1 << 20
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        figures, made_from = run(arguments, Path(folder))
    for name, value in figures.items():
        print(f"{name}: {value}")
    sizes = np.minimum(workload_w1.vocabularies(), arguments.rows)
    setup = {
        **made_from,
        "turns": arguments.turns,
        "seconds": arguments.seconds,
        "batch": arguments.batch,
        "rows": int(sizes.sum()),
        "shards": arguments.shards,
        "dd_mb": arguments.dd_bytes >> 20,
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        # Includes this benchmark's own load.
        "load_average_after": round(os.getloadavg()[0], 2),
        "seed": 0,
        **native_programs.machine(),
    }
    if arguments.write:
        write_section("recovery", markdown(figures, setup))
    print(json.dumps({"benchmark": "recovery", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
