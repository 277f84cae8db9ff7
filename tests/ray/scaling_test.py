"""Shards that are added to a Ray cluster, and removed, while programs use it."""

import numpy as np
import pytest
from harness import wait_until
from ray_training import connected, kill, model_of, rows_of, train

import persia_tf as ptf
from persia_tf import errors
from persia_tf.ray import group
from persia_tf.resharding.admin import ClusterAdmin

ray = pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def programs_look_often(monkeypatch):
    monkeypatch.setattr(group, "_LOOK_SECONDS", 0.1)


def slots_of(cluster):
    """How many slots each shard owns."""
    running = cluster._now()
    with ClusterAdmin(cluster.shards, 20, running.token_path) as admin:
        topology = admin.topology()
    owned = {each.address: topology.slots_of(each.id) for each in topology.present}
    assert owned.keys() == set(cluster.shards)
    return sorted(owned.values())


def free_cpus():
    return ray.available_resources()["CPU"]


@pytest.mark.parametrize("workers", [0, 1])
def test_shards_are_added_and_removed(start_cluster, workers):
    cluster = start_cluster(shards=2, cpus=0.5, embedding_workers=workers)
    with connected(cluster):
        model = model_of("user")
        train(model, 3)
        before = rows_of("user")
        free = free_cpus()
        cluster.scale(3)
        assert slots_of(cluster) == [5461, 5461, 5462]
        assert cluster.last_saved
        np.testing.assert_array_equal(rows_of("user"), before)
        train(model, 3)
        before = rows_of("user")
        leaving = cluster.actors[1:]
        cluster.scale(1, rate="1GiB")
        assert slots_of(cluster) == [16384]
        for actor in leaving:
            with pytest.raises(ray.exceptions.RayActorError):
                ray.get(actor.known_as.remote())
        np.testing.assert_array_equal(rows_of("user"), before)
        train(model, 1)
        wait_until(lambda: free_cpus() == free, "the room of the added shard")
        # One shard gets the room of the second one, and another one a new room.
        cluster.scale(3)
        assert slots_of(cluster) == [5461, 5461, 5462]
        train(model, 1)
    assert cluster.losses == []


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_an_added_shard_that_is_killed_is_followed(start_cluster, workers):
    cluster = start_cluster(shards=1, cpus=0.5, embedding_workers=workers)
    with connected(cluster):
        model = model_of("user")
        train(model, 3)
        cluster.scale(2)
        saved = rows_of("user")
        kill(cluster, 1)
        # The program began before that shard, and does not list it.
        np.testing.assert_array_equal(rows_of("user"), saved)
        train(model, 1)
        # The cluster still knows the shard by its former address.
        cluster.scale(3)
        before = rows_of("user")
        kill(cluster, 0)
        cluster.scale(1)
        assert slots_of(cluster) == [16384]
        found = rows_of("user")
    assert [loss.shard for loss in cluster.losses] == [1, 0]
    assert np.sum(np.any(found != before, axis=1)) == 0


def test_a_connection_finds_the_shards_that_there_are(start_cluster):
    cluster = start_cluster(shards=2, cpus=0.5)
    connection = cluster.connection()
    with connected(cluster):
        train(model_of("user"), 1)
        before = rows_of("user")
        cluster.scale(3)
        cluster.scale(1)
        cluster.scale(2)

    def shards():
        import os

        with connection:
            return os.environ["PERSIA_PS"].split(","), ptf.Table("user").lookup([0])

    task = ray.remote(num_cpus=0)(shards)
    listed, row = ray.get(task.remote())
    assert listed == cluster.shards
    np.testing.assert_array_equal(row, before[:1])


def test_a_cluster_without_tables_is_not_scaled(start_cluster):
    cluster = start_cluster(shards=1, cpus=0.5)
    with pytest.raises(errors.FailedPreconditionError, match="belong to no cluster"):
        cluster.scale(2)
    assert len(cluster.shards) == 1
    assert cluster._now().group.present() == [0]


def test_no_room_for_more_shards_changes_nothing(start_cluster):
    cluster = start_cluster(shards=1, cpus=0.5, start_timeout=20)
    with connected(cluster):
        train(model_of("user"), 1)
        with pytest.raises(errors.UnavailableError, match="Ray found no room"):
            cluster.scale(1000)
        assert len(cluster.shards) == 1
        train(model_of("user"), 1)


@pytest.mark.parametrize("shards", [0, 1.5, "2"])
def test_another_number_of_shards_is_refused(start_cluster, shards):
    cluster = ptf.ray.Cluster(checkpoint_root="/tmp")
    with pytest.raises((TypeError, ValueError), match="`shards`"):
        cluster.scale(shards)
