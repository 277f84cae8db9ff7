"""Ray Train's TensorflowTrainer with a cluster, also while a node dies."""

import json
import os
import pathlib
import subprocess
import sys
from concurrent import futures

import pytest
import ray_steps
from harness import wait_until
from movielens import train

from persia_tf.base.addresses import parse

ray = pytest.importorskip("ray")

MOVIELENS = pathlib.Path(train.__file__)
SMALL = ["--generated", "--rows=20000", "--epochs=2", "--batch_size=512"]
STEPS = pathlib.Path(ray_steps.__file__)
# Two asynchronous runs do not give the same weights.
AUC_NOISE = 0.01


def fit(loop, folder, workers=1, **options):
    """Runs a training loop under Ray Train, and waits until it has ended."""
    from ray.train import RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    TensorflowTrainer(
        loop,
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(storage_path=str(folder / "results")),
        **options,
    ).fit()


def launch(program, *arguments):
    command = [sys.executable, "-m", "persia_tf.commands.main", "launch", "--ps=2"]
    subprocess.run(
        [*command, "--", sys.executable, program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        timeout=300,
    )


def auc_in(path):
    return json.loads(path.read_text())["test_auc"]


@pytest.mark.slow
def test_a_program_learns_as_under_persia_launch(start_cluster, tmp_path):
    launch(MOVIELENS, *SMALL, "--json", tmp_path / "launched")
    cluster = start_cluster(shards=2)
    with_ray = tmp_path / "with_ray"
    fit(cluster.program(MOVIELENS, *SMALL, "--json", str(with_ray)), tmp_path)
    assert auc_in(with_ray) == pytest.approx(
        auc_in(tmp_path / "launched"), abs=AUC_NOISE
    )
    assert auc_in(with_ray) > 0.55


@pytest.mark.slow
def test_a_training_loop_runs_in_several_workers(start_cluster, tmp_path):
    examples, told = str(MOVIELENS.parents[1]), str(tmp_path)

    def loop(config):
        sys.path.insert(0, examples)
        from multi_worker import train

        auc = train.main(["--generated", "--rows=20000", *config["options"]])
        rank = ray.train.get_context().get_world_rank()
        pathlib.Path(told, f"auc-{rank}").write_text(str(auc))

    cluster = start_cluster(shards=2)
    config = {"options": ["--epochs=2"]}
    fit(cluster.train_loop(loop), tmp_path, workers=2, train_loop_config=config)
    first, second = ((tmp_path / f"auc-{rank}").read_text() for rank in range(2))
    assert first == second
    assert float(first) > 0.6


def steps_in(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.slow
def test_training_goes_on_after_a_node_died(nodes, start_cluster, tmp_path):
    cluster = start_cluster(shards=3)
    steps, stop = tmp_path / "steps", tmp_path / "stop"
    loop = cluster.program(STEPS, str(steps), str(stop))
    pool = futures.ThreadPoolExecutor(1)
    training = pool.submit(fit, loop, tmp_path)
    try:
        wait_until(lambda: steps_in(steps) > 50, "the first steps")
        cluster.save()
        saved_at = steps_in(steps)
        wait_until(lambda: steps_in(steps) > saved_at + 50, "steps after the save")
        before = cluster.shards
        nodes.kill_one_with(cluster.actors)
        wait_until(lambda: cluster.shards != before, "the restart elsewhere")
        moved_at = steps_in(steps)
        wait_until(lambda: steps_in(steps) > moved_at + 50, "steps after the restart")
        wait_until(lambda: cluster.losses[0].updates, "the count of what was lost")
    finally:
        stop.touch()
        # More than the timeout of the program's cluster, by which its end is delayed
        # at most.
        futures.wait([training], timeout=180)
        pool.shutdown(wait=False)
        nodes.complete()
    training.result(timeout=0)
    [loss] = cluster.losses
    assert parse(loss.address) != parse(before[loss.shard])
    assert 50 <= loss.updates <= moved_at - saved_at + 50
