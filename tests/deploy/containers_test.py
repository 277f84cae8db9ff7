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


def test_the_image_of_servers_shows_a_clusters_load(cluster, shards):
    shown = cluster.run("persia-ps", "top", "--once", "--interval=0.1")
    assert shown.log.startswith("2 of 2 servers up, 0 tables")


# What an operator reads in a container's log, if a setting of its pod is wrong. The
# table of failures in docs/containers.md has each message.
WRONG = {
    "no token": (
        {"PERSIA_AUTH_TOKEN_FILE": ""},
        "without a token or TLS, a server may listen only on addresses of this machine",
    ),
    "a token file that is not there": (
        {"PERSIA_AUTH_TOKEN_FILE": "/etc/persia/token/other"},
        "the token file /etc/persia/token/other cannot be read: No such file",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_setting_is_told_in_the_containers_log(cluster, wrong):
    variables, message = WRONG[wrong]

    def change(spec):
        spec["restartPolicy"] = "Never"
        spec["containers"][0]["env"] = [
            {"name": name, "value": value} for name, value in variables.items()
        ]

    shard = cluster.start("persia-ps", change=change)
    shard.wait(60)
    assert message in shard.log
    assert shard.state["ExitCode"] == 1


def test_a_token_that_its_pod_may_not_read_is_told(cluster):
    cluster.add_secret("persia-token", TOKEN, group=0)
    shard = cluster.run("persia-ps", "ps", "--host=0.0.0.0")
    assert (
        "the token file /etc/persia/token/token cannot be read: Permission denied to "
        "user 10001: the file belongs to user 0 and group 0, and its mode is 440"
    ) in shard.log


def test_a_volume_that_is_missing_is_told(cluster):
    def change(spec):
        spec["restartPolicy"] = "Never"
        [container] = spec["containers"]
        container["volumeMounts"] = [
            each for each in container["volumeMounts"] if each["name"] != "rows"
        ]

    shard = cluster.start("persia-ps", change=change)
    shard.wait(60)
    assert (
        "argument --recovery-folder: cannot be created: [Errno 30] Read-only file "
        "system: '/var/lib/persia/recovery'"
    ) in shard.log


def test_a_shard_that_cannot_be_found_is_told(cluster):
    asked = cluster.run("persia-ps", "status", "no-such-shard.persia-ps:7000")
    assert (
        "shard 0 of 1 (no-such-shard.persia-ps:7000) did not answer within 5 s: the "
        "name cannot be resolved"
    ) in asked.log


def test_a_shard_sees_the_memory_limit_of_its_container(cluster):
    def change(spec):
        [container] = spec["containers"]
        container["resources"] = {"limits": {"memory": "256Mi"}}

    shard = cluster.start("persia-ps", change=change)
    shard.wait_for("is listening on")
    # The manifests give the tables 60% of it.
    assert "tables may take 153 MiB of the 256 MiB that" in shard.log


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
    """Makes a trainer's pod run a program of this folder, on real data if possible."""
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
