"""What a checkpoint costs training, and how fast it is written.

    python benchmarks/checkpoint_bench.py
    python benchmarks/checkpoint_bench.py --folder /mnt/disk

The click model is trained on two shards, which hold rows for its whole vocabulary of
10,000,000 ids and save their checkpoints below the same folder. Each of the two figures
is a median of ratios to a measurement that was taken immediately before or after:

    training_during_over_without   steps per second during a save, which begins with
                                   its call, over steps per second in an equally long
                                   time after the save
    write_over_dd                  bytes per second of a save without training, from
                                   its call to its end, over bytes per second of dd
                                   with fsync, which writes as many bytes to the same
                                   folder

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shard_processes import running_shards

SHARDS = 2
WARM_UP_STEPS = 20
_FILL_ROWS = 200_000  # Per request.


def fill(cluster: Any, vocabularies: list[int]) -> None:
    """Sets every row of the click model's tables."""
    import numpy as np
    import workload_w1

    import persia_tf as ptf

    random = np.random.default_rng(0)
    for feature, size in enumerate(vocabularies):
        table = ptf.Table(f"c{feature}", cluster)
        for begin in range(0, size, _FILL_ROWS):
            ranks = np.arange(begin, min(size, begin + _FILL_ROWS))
            shape = (len(ranks), workload_w1.DIM)
            rows = random.uniform(-0.05, 0.05, shape).astype("float32")
            table.assign(workload_w1.ids_of(ranks, np.array(feature)), rows)


def training_ratios(
    model: Any, dataset: Any, cluster: Any, arguments: argparse.Namespace
) -> list[dict[str, float]]:
    """Trains and saves at intervals; returns the figures of each save."""
    from w1_model import keras

    import persia_tf as ptf

    class Saves(keras.callbacks.Callback):
        """Alternates between training during a save and as long without a save."""

        def __init__(self) -> None:
            super().__init__()
            self.measured: list[dict[str, float]] = []
            self._turns = self._take_turns()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch >= WARM_UP_STEPS and next(self._turns, True):
                self.model.stop_training = True

        def _take_turns(self) -> Iterator[bool]:
            for _ in range(arguments.rounds):
                begin = time.monotonic()
                save = ptf.checkpoint.save(
                    "run", cluster=cluster, block=False, max_to_keep=1
                )
                called = time.monotonic()
                steps = 0
                while not save.done():
                    yield False
                    steps += 1
                save.wait()
                end = time.monotonic()
                seconds = end - begin
                steps_without = 0
                while time.monotonic() < end + seconds:
                    yield False
                    steps_without += 1
                rate = steps_without / (time.monotonic() - end)
                self.measured.append(
                    {
                        "ratio": steps / seconds / rate,
                        "seconds": seconds,
                        "seconds_of_the_call": called - begin,
                        "steps_a_second_without": rate,
                    }
                )

    saves = Saves()
    model.fit(dataset, steps_per_epoch=10**9, verbose=0, callbacks=[saves])
    return saves.measured


def write_ratios(
    cluster: Any, folder: Path, arguments: argparse.Namespace
) -> list[dict[str, float]]:
    """Saves and runs dd in turn; returns the figures of each turn."""
    import persia_tf as ptf

    measured = []
    for _ in range(arguments.rounds):
        begin = time.monotonic()
        save = ptf.checkpoint.save("run", cluster=cluster, max_to_keep=1)
        seconds = time.monotonic() - begin
        size = sum(file.stat().st_size for file in (folder / save.folder).iterdir())
        speed, dd_speed = size / seconds, size / dd_seconds(folder, size)
        measured.append(
            {"ratio": speed / dd_speed, "mb_a_second": speed / 1e6, "mb": size / 1e6}
        )
    return measured


def dd_seconds(folder: Path, size: int) -> float:
    """Returns how long dd takes to write and fsync `size` bytes."""
    file = folder / "dd"
    block = 1 << 20
    command = ["dd", "if=/dev/zero", f"of={file}", f"bs={block}", "conv=fsync"]
    begin = time.monotonic()
    subprocess.run(
        [*command, f"count={max(1, size // block)}", "status=none"], check=True
    )
    seconds = time.monotonic() - begin
    file.unlink()
    # dd wrote whole blocks only.
    return seconds * size / (max(1, size // block) * block)


def run(arguments: argparse.Namespace, folder: Path) -> tuple[dict, dict]:
    """Returns the figures, and the measurements that they are computed from."""
    import tensorflow as tf
    import w1_model
    import workload_w1

    import persia_tf as ptf

    sizes = [min(size, arguments.most_rows) for size in workload_w1.vocabularies()]
    data = workload_w1.load(arguments.batches, arguments.batch)
    dataset = tf.data.Dataset.from_tensor_slices(
        ((data.ids(), data.dense), data.labels)
    ).repeat()
    options = ("--checkpoint-root", str(folder))
    with running_shards(SHARDS, options) as shards:
        cluster = ptf.Cluster([shard.address for shard in shards])
        model = w1_model.make_persia(sizes, cluster)
        fill(cluster, sizes)
        writing = write_ratios(cluster, folder, arguments)
        training = training_ratios(
            model, ptf.data.prefetch(dataset, model), cluster, arguments
        )
        rows = sum(t.rows for shard in cluster.stats() for t in shard.tables)
    figures = {
        "training_during_over_without": _median(training, "ratio"),
        "write_over_dd": _median(writing, "ratio"),
        "mb_a_second": _median(writing, "mb_a_second"),
        "seconds_of_a_save_in_training": _median(training, "seconds"),
    }
    return figures, {"rows": rows, "training": training, "writing": writing}


def _median(measured: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in measured)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--folder", help="a folder on the device to measure (the temporary one)")
    add("--rounds", type=int, default=5, help="figures are medians of these")
    add("--batch", type=int, default=4096)
    arguments = parser.parse_args()
    arguments.batches, arguments.most_rows = 200, 1 << 62
    if arguments.quick:
        arguments.rounds, arguments.batch = 2, 256
        arguments.batches, arguments.most_rows = 20, 2000
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        figures, made_from = run(arguments, Path(folder))
    for name, value in figures.items():
        print(f"{name:30} {value:10.4g}")
    setup = {
        **made_from,
        "batch": arguments.batch,
        "shards": SHARDS,
        "cores": os.cpu_count(),
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        "seed": 0,
    }
    print(json.dumps({"benchmark": "checkpoint", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
