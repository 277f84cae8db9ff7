"""Whether memory stays flat in a long training whose tables evict rows.

    python benchmarks/soak.py                    # Half an hour.
    python benchmarks/soak.py --minutes 1 --bound 0.1

Trains the click model on two shards, with tables that hold fewer rows than its data has
ids, so that rows are created and evicted in every step. The resident memory of the
training program and of each shard is sampled each second. After a warm-up, the growth
of a process is the median of the last fifth of its samples, divided by the median of
the first fifth, minus 1. Exits with status 1 if a process grew or shrank by more than
the bound, or if nothing was evicted; an error in training ends the program too. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from processes import resident_mb
from shard_processes import running_shards

SHARDS = 2
BATCHES = 200
_SAMPLE_SECONDS = 1.0
_LONGEST_WARM_UP_SECONDS = 180.0


class MemorySamples:
    """Samples the resident memory of processes, on a thread, within a `with` block.

    Args:
        pids: The ids of the processes, by name.

    Attributes:
        taken: The samples of each process, in megabytes, one per second.
    """

    def __init__(self, pids: Mapping[str, int]) -> None:
        self.taken: dict[str, list[float]] = {name: [] for name in pids}
        self._pids = pids
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> MemorySamples:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            for name, pid in self._pids.items():
                self.taken[name].append(resident_mb(pid))


def growth(samples: Sequence[float]) -> float:
    """Returns the relative growth from the beginning of a series to its end."""
    fifth = max(1, len(samples) // 5)
    return median(samples[-fifth:]) / median(samples[:fifth]) - 1


def spread(samples: Sequence[float]) -> float:
    """Returns the largest sample over the smallest, minus 1."""
    return max(samples) / min(samples) - 1


def soak(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains for the given time; returns the figures."""
    import tensorflow as tf
    import w1_model
    import workload_w1

    import persia_tf as ptf

    data = workload_w1.load(arguments.batches, arguments.batch)
    dataset = tf.data.Dataset.from_tensor_slices(
        ((data.ids(), data.dense), data.labels)
    ).repeat()
    seconds = 60 * arguments.minutes
    with running_shards(SHARDS) as shards:
        cluster = ptf.Cluster([shard.address for shard in shards])
        model = w1_model.make_persia(
            workload_w1.vocabularies(),
            cluster,
            capacity=arguments.capacity,
            eviction="lru",
        )
        windows = w1_model.Windows(1, seconds, warm_up_steps=1)
        pids = {f"shard_{i}": shard.pid for i, shard in enumerate(shards)}
        with MemorySamples({"trainer": os.getpid(), **pids}) as memory:
            model.fit(
                ptf.data.prefetch(dataset, model),
                steps_per_epoch=10**9,
                verbose=0,
                callbacks=[windows],
            )
        stats = cluster.stats()
    figures = {
        "steps": windows.total_steps,
        "evictions": sum(t.evictions for shard in stats for t in shard.tables),
        "rows": sum(t.rows for shard in stats for t in shard.tables),
        "bad_frames": sum(shard.bad_frames for shard in stats),
        "retries": ptf.metrics()["retries"],
    }
    # The samples after the warm-up are counted from the end, since it is not known how
    # long the first step took.
    measured = seconds - min(_LONGEST_WARM_UP_SECONDS, seconds / 2)
    for name, taken in memory.taken.items():
        warm = taken[-int(measured / _SAMPLE_SECONDS) :]
        figures[f"growth_{name}"] = growth(warm)
        figures[f"spread_{name}"] = spread(warm)
        figures[f"memory_mb_{name}"] = median(warm)
    return figures


def failures(figures: Mapping[str, float], bound: float) -> list[str]:
    """Returns messages about figures that are out of bounds."""
    found = [
        f"{name} is {value:+.2%}, beyond {bound:.2%}"
        for name, value in figures.items()
        if name.startswith("growth_") and abs(value) > bound
    ]
    if not figures["evictions"]:
        found.append("no row was evicted: give a smaller --capacity")
    if figures["bad_frames"]:
        found.append(f"bad_frames is {figures['bad_frames']}")
    return found


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--minutes", type=float, default=30.0)
    add("--batch", type=int, default=4096)
    add("--capacity", type=int, default=20_000, help="rows of each table (%(default)s)")
    add("--bound", type=float, default=0.02, help="accepted growth (%(default)s)")
    arguments = parser.parse_args()
    arguments.batches = BATCHES
    if arguments.quick:
        arguments.minutes, arguments.bound = 0.2, 0.25
        arguments.batches, arguments.batch, arguments.capacity = 20, 512, 300
    return arguments


def main() -> int:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    begin = time.monotonic()
    figures = soak(arguments)
    wrong = failures(figures, arguments.bound)
    for line in wrong:
        print(line, file=sys.stderr)
    setup = {
        **vars(arguments),
        "shards": SHARDS,
        "seconds": time.monotonic() - begin,
        "cores": os.cpu_count(),
        "load_average_before": round(load, 2),
        "seed": 0,
    }
    print(json.dumps({"benchmark": "soak", "figures": figures, "setup": setup}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
