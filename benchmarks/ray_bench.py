"""What `ptf.ray` costs beside `persia launch`, and how long a dead node stops training.

    PERSIA_TF_DATA=... python benchmarks/ray_bench.py
    python benchmarks/ray_bench.py --rows 100000 --turns 3

Ray has three nodes on this machine. examples/movielens/train.py runs in turn under
`persia launch` and, unchanged, under Ray Train, each with two shards. The first epoch
of a run is not counted, since TensorFlow compiles the model in it.

    speed_over_launch  speed of training under Ray over that under `persia launch`
    cpu_over_launch    processor time of the training process over that under `persia
                       launch`, which other work on the machine affects less
    auc_difference     its test AUC minus that under `persia launch`

Then a model is trained on three shards, one on each node, and a node is killed:

    pause_seconds  the longest time between two steps since the node was killed
    lost_updates   the upper bound of lost updates that the cluster counted
    later_steps    steps from the checkpoint to the kill, which is what could be lost

Ray detects a dead node by health checks: `--default-health-checks` leaves them at Ray's
defaults. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ray_nodes import HEALTH_CHECKS, Nodes

import persia_tf as ptf

_HERE = Path(__file__).resolve().parent
_TIMED = _HERE / "timed_fit.py"
_STEPS = _HERE / "ray_steps.py"
_MOVIELENS = _HERE.parent / "examples" / "movielens" / "train.py"
_SHARDS = 2
_WAIT_SECONDS = 120.0
# Steps before and after each event.
_BETWEEN = 200


class Run(NamedTuple):
    """What a run of the MovieLens program showed."""

    seconds: float  # The median of its epochs, without the first one.
    cpu_seconds: float  # Of the training process; the median too.
    auc: float


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--turns", type=int, default=3, help="of each side (%(default)s)")
    add("--epochs", type=int, default=4, help="of each run (%(default)s)")
    add("--rows", type=int, help="train on this many rows only")
    add("--default-health-checks", action="store_true", help="as Ray has them")
    add("--only", choices=("speed", "pause"), help="measure only this")
    add("--quick", action="store_true", help="only a smoke test")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.epochs, arguments.rows = 1, 2, 20000
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    health = {} if arguments.default_health_checks else HEALTH_CHECKS
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, ray_of(Nodes(health)) as nodes:
        if arguments.only != "pause":
            figures.update(compare(arguments, Path(folder)))
        if arguments.only != "speed":
            figures.update(kill_a_node(nodes, Path(folder)))
    for name, figure in figures.items():
        print(f"{name:20} {figure:9.4f}", flush=True)
    setup = {
        **vars(arguments),
        "shards": _SHARDS,
        "health_checks": health,
        "cores": os.cpu_count(),
        "load_average_before": round(load, 2),
    }
    print(json.dumps({"benchmark": "ray_bench", "figures": figures, "setup": setup}))


@contextlib.contextmanager
def ray_of(nodes: Nodes) -> Iterator[Nodes]:
    """Connects this process with Ray's nodes, and ends them after the block."""
    import ray

    try:
        ray.init(address=nodes.address, log_to_driver=False)
        yield nodes
    finally:
        ray.shutdown()
        nodes.stop()


def fit(loop: Callable[[], None], folder: Path) -> None:
    """Runs a training loop in one worker of Ray Train."""
    from ray.train import RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    TensorflowTrainer(
        loop,
        scaling_config=ScalingConfig(num_workers=1),
        run_config=RunConfig(storage_path=str(folder / "results")),
    ).fit()


def compare(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Runs the MovieLens program in turn under `persia launch` and under Ray."""
    options = ["--epochs", str(arguments.epochs)]
    if arguments.rows:
        options += ["--rows", str(arguments.rows)]
    ratios, cpu_ratios, differences = [], [], []
    for turn in range(arguments.turns):
        launched = run(launch, options, folder)
        with_ray = run(train_with_ray, options, folder)
        ratios.append(launched.seconds / with_ray.seconds)
        cpu_ratios.append(with_ray.cpu_seconds / launched.cpu_seconds)
        differences.append(with_ray.auc - launched.auc)
        print(f"turn {turn + 1}: launch {launched}, ray {with_ray}", flush=True)
    return {
        "speed_over_launch": statistics.median(ratios),
        "cpu_over_launch": statistics.median(cpu_ratios),
        "auc_difference": statistics.median(differences),
    }


def run(
    side: Callable[[list[str], Path], None], options: list[str], folder: Path
) -> Run:
    """Runs the MovieLens program on one side."""
    seconds, result = folder / "seconds", folder / "result"
    program = [str(_TIMED), str(seconds), str(_MOVIELENS), "--json", str(result)]
    side([*program, *options], folder)
    auc = json.loads(result.read_text())["test_auc"]
    wall, cpu = zip(*json.loads(seconds.read_text())[1:])
    return Run(statistics.median(wall), statistics.median(cpu), auc)


def launch(program: list[str], folder: Path) -> None:
    command = [sys.executable, "-m", "persia_tf.commands.main", "launch"]
    command += ["--ps", str(_SHARDS), "--log-level", "warning", "--", sys.executable]
    subprocess.run([*command, *program], check=True, stdout=subprocess.DEVNULL)


def train_with_ray(program: list[str], folder: Path) -> None:
    with cluster_of(_SHARDS, folder) as cluster:
        fit(cluster.program(*program), folder)


def cluster_of(shards: int, folder: Path) -> ptf.ray.Cluster:
    """Returns a cluster that saves no checkpoints by itself."""
    return ptf.ray.Cluster(shards, checkpoint_root=folder, checkpoint_interval=None)


def kill_a_node(nodes: Nodes, folder: Path) -> dict[str, float]:
    """Trains, and kills a node meanwhile."""
    steps, stop = folder / "steps", folder / "stop"
    with cluster_of(3, folder) as cluster:
        loop = cluster.program(_STEPS, str(steps), str(stop))
        training = threading.Thread(target=fit, args=(loop, folder))
        training.start()
        try:
            wait_for_steps(steps, _BETWEEN)
            cluster.save()
            saved_at = len(times_in(steps))
            wait_for_steps(steps, saved_at + _BETWEEN)
            later_steps = len(times_in(steps)) - saved_at
            killed_at = time.time()
            nodes.kill_one_with(cluster.actors)
            wait_until(lambda: any(each.updates for each in cluster.losses))
            wait_for_steps(steps, len(times_in(steps)) + _BETWEEN)
            lost = sum(each.updates for each in cluster.losses)
        finally:
            stop.touch()
            training.join(300)
    if training.is_alive():
        raise RuntimeError("the training did not end within 300 s after its last step")
    times = [killed_at, *(each for each in times_in(steps) if each > killed_at)]
    return {
        "pause_seconds": max(b - a for a, b in zip(times, times[1:])),
        "lost_updates": lost,
        "later_steps": later_steps,
    }


def times_in(path: Path) -> list[float]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [float(line) for line in lines]


def wait_for_steps(path: Path, count: int) -> None:
    wait_until(lambda: len(times_in(path)) >= count)


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + _WAIT_SECONDS
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit("gave up waiting for the training program")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
