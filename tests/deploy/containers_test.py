"""Containers of the images, as pods with the manifests' settings, run by podman."""

from __future__ import annotations

import json
import os
import pathlib

import podman_pods as pods
import pytest

DATA = os.environ.get("PERSIA_TF_DATA")
SECONDS = 600  # For four epochs, on a machine that does other work.

TOKEN = {"token": "0123456789abcdef0123456789abcdef"}


@pytest.fixture
def cluster(tmp_path):
    """The objects of deploy/kubernetes, whose pods a test starts."""
    pods.require_image("persia-tf-server")
    with pods.Pods(tmp_path) as started:
        started.add_secret("persia-token", TOKEN)
        yield started


@pytest.fixture
def shards(cluster):
    """The shards, each in a container of its own."""
    return start_shards(cluster)


def start_shards(cluster):
    started = [cluster.start("persia-ps", number) for number in range(2)]
    for shard in started:
        shard.wait_for("is listening on")
    return started


def test_shards_in_containers_of_their_own_are_found_by_name(cluster, shards):
    asked = cluster.run("persia-ps", "status", "--json")
    stats = json.loads(asked.log)
    assert stats["failures"] == []
    assert [each["address"] for each in stats["processes"]] == [
        f"persia-ps-{number}.persia-ps:7000" for number in range(len(shards))
    ]


@pytest.fixture
def train_exactly(tmp_path):
    """Trains MovieLens on new shards; kills shards meanwhile; gives the result."""
    pods.require_image("persia-tf-server")
    pods.require_image("persia-tf-trainer")

    def train(kills=()):
        folder = tmp_path / f"{len(kills)} kills"
        folder.mkdir()
        with pods.Pods(folder) as cluster:
            cluster.add_secret("persia-token", TOKEN)
            shards = start_shards(cluster)
            trainer = cluster.start("movielens", change=run_exact_movielens)
            for epoch, number in kills:
                trainer.wait_for(f"Epoch {epoch}/")
                shards[number].kill()
                shards[number].wait_for("is listening on", times=2)
                assert "recovered" in shards[number].log
            trainer.wait(SECONDS)
            assert trainer.state["ExitCode"] == 0, trainer.log
            return json.loads(trainer.log.splitlines()[-1])

    return train


def run_exact_movielens(spec):
    """Makes a trainer's pod run a program of this folder, on the data if there is any."""
    pods.mount(spec, pathlib.Path(__file__).parent, "/program")
    [container] = spec["containers"]
    container["args"] = ["python", "/program/exact_movielens.py", "/app/examples"]
    if DATA:
        pods.mount(spec, pathlib.Path(DATA), "/data")
        container["env"].append({"name": "PERSIA_TF_DATA", "value": "/data"})


@pytest.mark.slow
def test_a_shard_that_is_killed_in_training_loses_nothing(train_exactly):
    undisturbed = train_exactly()
    assert undisturbed["auc"] > (0.895 if DATA else 0.6)
    assert train_exactly(kills=[(2, 0), (3, 1)]) == undisturbed
