"""How soon `fit` goes on after a shard is lost with its folder, and if updates are.

    python benchmarks/failover_bench.py --kills 20 --acknowledge self

`persia launch --ps 2 --standbys 1` runs a program that trains by `fit` with prefetched
rows. Of one shard and then the other, the process that serves is killed by SIGKILL,
anywhere in a step, and its recovery folder is taken away at once, so that its standby
must take its place. The next kill comes once the new standby has all rows. Figures:

    seconds_to_go_on      from the kill to the end of the first step whose rows include
                          the update of a step that began after the kill: the shard has
                          acknowledged an update and answered a lookup since the kill
    seconds_of_promotion  the part of it in which the standby takes its place
    lost_updates          updates that the rows lack at the end, when all that `fit`
                          made were acknowledged; a sample's update adds 1 to its row
    repeated_updates      updates that the rows have twice
    fit_failures          1 if the training program failed, which ends the benchmark
    longest_step_without_kill_seconds  of warm steps outside of `seconds_to_go_on`

Exits with status 1 if any of the three counts is not 0, except that updates may be lost
with `--acknowledge self`, the default of `persia launch`: those that a shard has
acknowledged before its standby got them. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import native_programs
import numpy as np

SHARDS, STALENESS, WARM_UP_STEPS = 2, 4, 20
IDS, DIM, BATCHES, BATCH = 20_000, 8, 64, 512
_STEPS_BETWEEN, _STEP_BYTES = 20, 16
_WAIT_SECONDS, _POLL_SECONDS = 120.0, 0.005


class Launch:
    """`persia launch` with standbys and the training program.

    Args:
        folder: For all files.
        acknowledge: The value of the option.
    """

    def __init__(self, folder: Path, acknowledge: str) -> None:
        self._folder = folder
        argv = [sys.executable, "-m", "persia_tf.commands.main", "launch"]
        argv += [f"--ps={SHARDS}", "--standbys=1", f"--acknowledge={acknowledge}"]
        argv += [f"--recovery-folder={folder / 'recovery'}", "--", sys.executable]
        argv += [os.path.abspath(__file__), f"--worker={folder}"]
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log)
        # Each shard's processes, of which the first serves, and since where in the log.
        self._names = [[f"ps {index}", f"ps {index}b"] for index in range(SHARDS)]
        self._since = [0] * SHARDS

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")

    def wait_for_standbys(self) -> None:
        """Waits until each shard's standby has all rows, and got further updates."""
        self._wait(self._have_standbys, "a standby of each shard")
        self.wait_for_steps(_STEPS_BETWEEN)

    def wait_for_steps(self, count: int) -> None:
        """Waits until `fit` has made so many more steps."""
        target = self._steps() + count
        self._wait(lambda: self._steps() >= target, f"{count} steps")

    def lose_shard(self, index: int) -> float:
        """Loses a shard's serving process and its folder; returns when it did."""
        self._since[index] = len(self.log)
        name = self._names[index][0]
        pid = int(self._server(name)[1])
        killed_at = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        # Renamed first, since the launch empties the folder once the standby serves.
        lost = self._folder / "lost"
        (self._folder / "recovery" / name.replace(" ", "-")).rename(lost)
        shutil.rmtree(lost)
        self._names[index].reverse()
        return killed_at

    def end(self) -> tuple[np.ndarray, dict[str, int]]:
        """Ends `fit`; returns each step's begin and end, and what is wrong."""
        (self._folder / "stop").touch()
        if self._process.wait(_WAIT_SECONDS):
            raise ChildProcessError
        steps = np.fromfile(self._folder / "steps").reshape(-1, 2)
        return steps, json.loads((self._folder / "end").read_text())

    def close(self) -> None:
        """Ends all processes that still run, which the launch does."""
        self._process.terminate()
        self._process.wait(_WAIT_SECONDS)

    def _steps(self) -> int:
        steps = self._folder / "steps"
        return steps.stat().st_size // _STEP_BYTES if steps.exists() else 0

    def _have_standbys(self) -> bool:
        told = r"(?m)^\[{}\] .*this shard has a standby at {}$"
        return all(
            re.search(told.format(serving, self._server(standby)[2]), self.log[since:])
            for (serving, standby), since in zip(self._names, self._since)
        )

    def _server(self, name: str) -> re.Match:
        """Finds the id and the address of the process that a server has now."""
        pattern = rf"(?m)^\[{name}\] .* \(pid (\d+)\) is listening on (\S+);"
        return list(re.finditer(pattern, self.log))[-1]

    def _wait(self, condition: Callable[[], object], what: str) -> None:
        give_up = time.monotonic() + _WAIT_SECONDS
        while not condition():
            if self._process.poll() is not None:
                raise ChildProcessError
            if time.monotonic() > give_up:
                raise RuntimeError(f"gave up waiting for {what}:\n{self.log}")
            time.sleep(_POLL_SECONDS)


def train(folder: Path) -> None:
    """Trains until there is the file `stop`; writes `steps`, and then `end`."""
    import tensorflow as tf

    import persia_tf as ptf
    from persia_tf._keras import keras

    class Times(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
            self.began = time.monotonic()

        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            steps.write(np.array([self.began, time.monotonic()]).tobytes())
            self.model.stop_training = (folder / "stop").exists()

    cluster = ptf.Cluster()
    sgd = ptf.optimizers.SGD(1.0)
    embed = ptf.layers.PersiaEmbedding(
        DIM, table="ids", embeddings_initializer="zeros", optimizer=sgd, cluster=cluster
    )
    ids = keras.Input((), dtype="int64")
    model = keras.Model(ids, embed(ids))
    # The gradient of a sample's row is -1, so that its update adds 1.
    model.compile("sgd", lambda labels, rows: -tf.reduce_sum(rows))
    batches = np.random.default_rng(0).integers(0, IDS, (BATCHES, BATCH))
    labels = np.zeros((BATCHES, BATCH, DIM), "float32")
    data = tf.data.Dataset.from_tensor_slices((batches, labels)).repeat()
    data = ptf.data.prefetch(data, model, staleness=STALENESS)
    with (folder / "steps").open("wb", buffering=0) as steps:
        model.fit(data, steps_per_epoch=10**9, verbose=0, callbacks=[Times()])
        count = steps.tell() // _STEP_BYTES
    cluster.flush()
    found = np.zeros((IDS, DIM))
    for page in ptf.Table("ids", cluster).export():
        found[page.ids] = page.rows
    expected = np.bincount(batches[np.arange(count) % BATCHES].ravel(), minlength=IDS)
    lacking = expected[:, np.newaxis] - found
    lost, repeated = (side.max(axis=1).clip(0).sum() for side in (lacking, -lacking))
    wrong = {"lost_updates": int(lost), "repeated_updates": int(repeated)}
    (folder / "end").write_text(json.dumps(wrong))


def figures_of(steps: np.ndarray, kills: list[float]) -> dict[str, float]:
    """Returns the figures of the times of steps, and of kills."""
    begins, ends = steps.T
    quiet = np.arange(len(steps)) >= WARM_UP_STEPS
    back = []
    for killed_at in kills:
        # The rows of a step lack the updates of at most STALENESS steps before it.
        end = ends[np.searchsorted(begins, killed_at) + STALENESS + 1]
        back.append(end - killed_at)
        quiet &= (ends < killed_at) | (begins > end)
    return {
        "seconds_to_go_on_median": np.median(back),
        "seconds_to_go_on_max": max(back),
        "longest_step_without_kill_seconds": (ends - begins)[quiet].max(),
    }


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Returns the figures."""
    draw = np.random.default_rng(0)
    kills: list[float] = []
    launch = Launch(folder, arguments.acknowledge)
    try:
        launch.wait_for_steps(WARM_UP_STEPS)
        launch.wait_for_standbys()
        while len(kills) < arguments.kills:
            time.sleep(draw.uniform(0, 0.05))
            kills.append(launch.lose_shard(len(kills) % SHARDS))
            launch.wait_for_standbys()
        steps, wrong = launch.end()
    except ChildProcessError:
        print(launch.log, file=sys.stderr)
        return {"kills": len(kills), "fit_failures": 1}
    finally:
        launch.close()
    promotions = re.findall(r"took over after ([\d.]+) s", launch.log)
    figures = {"kills": len(kills), "fit_failures": 0, **wrong}
    figures["seconds_of_promotion"] = np.median([float(each) for each in promotions])
    return {**figures, **figures_of(steps, kills)}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--kills", type=int, default=10, help="(%(default)s)")
    add("--quick", action="store_const", const=2, dest="kills", help="a smoke test")
    add("--acknowledge", choices=("standby", "self"), default="standby")
    add("--worker", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if arguments.worker:
        train(arguments.worker)
        return 0
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        figures = run(arguments, Path(folder))
    setup = {
        "acknowledge": arguments.acknowledge,
        "load_average_before": round(load, 2),  # By other programs.
        "seed": 0,
        **native_programs.machine(),
    }
    print(json.dumps({"benchmark": "failover", "figures": figures, "setup": setup}))
    losses = figures.get("lost_updates", 0) * (arguments.acknowledge == "standby")
    wrong = losses + figures.get("repeated_updates", 0) + figures["fit_failures"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
