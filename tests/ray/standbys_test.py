"""Shards with standbys on a Ray cluster, whose processes and nodes are lost."""

import numpy as np
import pytest
from harness import wait_until
from ray_nodes import node_of
from ray_training import connected, model_of, rows_of, train

from persia_tf.ray import group
from persia_tf.resharding.admin import ClusterAdmin

ray = pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def programs_look_often(monkeypatch):
    monkeypatch.setattr(group, "_LOOK_SECONDS", 0.1)


@pytest.fixture
def start_pairs(start_cluster, tmp_path):
    def start(**options):
        defaults = {"standbys": 1, "cpus": 0.5, "log_root": tmp_path / "logs"}
        return start_cluster(**{**defaults, **options})

    return start


def members_of(cluster):
    running = cluster._now()
    with ClusterAdmin(cluster.shards, 20, running.token_path) as admin:
        return admin.topology().present


def own_addresses(cluster):
    try:
        return ray.get([each.own_address.remote() for each in cluster.actors])
    except ray.exceptions.RayActorError:  # One of them is being restarted.
        return []


def wait_for_standbys(cluster):
    """Waits until each shard has a standby that has all rows."""

    def have_all():
        standbys = {each.standby for each in members_of(cluster)}
        return standbys | set(cluster.shards) == set(own_addresses(cluster))

    wait_until(have_all, "the standbys")


def actor_of(cluster, shard, serves):
    """The actor that serves a shard, or that of its standby."""
    [found] = [
        actor
        for actor in cluster._now().shards[shard]
        if (ray.get(actor.own_address.remote()) == cluster.shards[shard]) == serves
    ]
    return found


def lose(cluster, shard):
    """Kills the process that serves a shard, and waits until the other one does."""
    before = cluster.shards
    ray.kill(actor_of(cluster, shard, serves=True), no_restart=False)
    wait_until(lambda: cluster.shards != before, "the other process")


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_shard_that_is_lost_is_its_standbys(start_pairs, workers):
    cluster = start_pairs(shards=2, embedding_workers=workers, acknowledge="standby")
    with connected(cluster):
        model = model_of("user")
        train(model, 3)
        for _ in range(3):
            wait_for_standbys(cluster)
            before = rows_of("user")
            lose(cluster, 1)
            np.testing.assert_array_equal(rows_of("user"), before)
            train(model, 1)
    assert cluster.losses == []


def test_a_program_that_was_idle_finds_a_shard_again(start_pairs):
    cluster = start_pairs(shards=1)
    with connected(cluster):
        model = model_of("user")
        train(model, 2)
        before = rows_of("user")
        # No address that the program knows answers any more.
        for _ in range(2):
            wait_for_standbys(cluster)
            lose(cluster, 0)
        np.testing.assert_array_equal(rows_of("user"), before)
        train(model, 1)


@pytest.mark.slow
def test_training_goes_on_while_a_standby_is_away(start_pairs):
    cluster = start_pairs(shards=1)
    with connected(cluster):
        model = model_of("user")
        train(model, 1)
        wait_for_standbys(cluster)
        where = cluster.shards
        former = own_addresses(cluster)
        ray.kill(actor_of(cluster, 0, serves=False), no_restart=False)
        train(model, 1)
        wait_until(lambda: own_addresses(cluster) not in ([], former), "its restart")
        wait_for_standbys(cluster)
        assert cluster.shards == where


@pytest.mark.parametrize("losses", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_both_processes_of_a_shard_end(start_pairs, losses):
    cluster = start_pairs(shards=1)
    with connected(cluster):
        model = model_of("user")
        train(model, 2)
        for _ in range(losses):
            wait_for_standbys(cluster)
            lose(cluster, 0)
        train(model, 1)
        wait_for_standbys(cluster)
        before = rows_of("user")
        former = set(own_addresses(cluster))
        for actor in cluster.actors:
            ray.kill(actor, no_restart=False)
        np.testing.assert_array_equal(rows_of("user"), before)
        wait_until(lambda: former.isdisjoint(cluster.shards), "the restart")
        train(model, 1)
        wait_for_standbys(cluster)
        before = rows_of("user")
        lose(cluster, 0)
        np.testing.assert_array_equal(rows_of("user"), before)


def occupy(cpus):
    """Reserves all that is free on Ray's nodes."""

    @ray.remote(num_cpus=cpus)
    class Occupant:
        def is_there(self):
            return True

    occupants = [
        Occupant.remote() for _ in range(int(ray.available_resources()["CPU"] / cpus))
    ]
    assert all(ray.get([each.is_there.remote() for each in occupants]))
    return occupants


def test_a_lost_node_needs_no_room_on_another_one(start_pairs, nodes):
    cluster = start_pairs(shards=1, cpus=2)
    head = ray.get_runtime_context().get_node_id()
    with connected(cluster):
        model = model_of("user")
        train(model, 2)
        wait_for_standbys(cluster)
        if node_of(actor_of(cluster, 0, serves=True)) == head:
            lose(cluster, 0)
            wait_for_standbys(cluster)
        before, where = rows_of("user"), cluster.shards
        occupants = occupy(2)
        try:
            nodes.kill_one_with([actor_of(cluster, 0, serves=True)])
            wait_until(lambda: cluster.shards != where, "the standby")
            np.testing.assert_array_equal(rows_of("user"), before)
            # A program that starts now needs only one of the two actors.
            with cluster.connection():
                train(model, 1)
        finally:
            for each in occupants:
                ray.kill(each)
            nodes.complete()
        wait_for_standbys(cluster)


def test_shards_with_standbys_are_added_and_removed(start_pairs, tmp_path):
    cluster = start_pairs(shards=1)
    with connected(cluster):
        model = model_of("user")
        train(model, 2)
        before = rows_of("user")
        cluster.scale(2)
        wait_for_standbys(cluster)
        lose(cluster, 1)
        np.testing.assert_array_equal(rows_of("user"), before)
        wait_for_standbys(cluster)
        cluster.scale(1)
        assert len(cluster.actors) == 2
        np.testing.assert_array_equal(rows_of("user"), before)
        train(model, 1)
    cluster.stop()
    assert not list((tmp_path / "logs").glob("*/*"))
