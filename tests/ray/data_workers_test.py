"""Data workers as actors, whose processes die."""

import os

import pytest

from persia_tf import errors

ray = pytest.importorskip("ray")

HOSTS = ("127.0.0.1", "192.0.2.1")


def read_from_data_workers():
    """Reads a dataset that data workers make, in a process of Ray."""
    import tensorflow as tf

    service = "grpc://" + os.environ["PERSIA_DATA"]
    dataset = tf.data.Dataset.range(100).apply(
        tf.data.experimental.service.distribute("distributed_epoch", service)
    )
    return service, sorted(map(int, dataset.as_numpy_iterator()))


@pytest.mark.slow
def test_programs_read_from_data_workers_although_all_were_killed(start_cluster):
    cluster = start_cluster(shards=1, data_workers=2, cpus=0.5)
    # By value, since Ray's workers cannot import this module.
    ray.cloudpickle.register_pickle_by_value(__import__(__name__))
    connected = cluster.train_loop(read_from_data_workers)
    read = ray.remote(num_cpus=0, max_calls=1)(connected)
    first, elements = ray.get(read.remote(), timeout=240)
    assert elements == list(range(100))
    service = cluster._now().data_service
    for actor in (service.dispatcher, *service.workers):
        ray.kill(actor, no_restart=False)
    # The dispatcher goes on at the same address.
    assert ray.get(read.remote(), timeout=240) == (first, list(range(100)))


def test_without_data_workers_programs_find_none(start_cluster):
    cluster = start_cluster(shards=1)
    assert cluster.connection().dispatcher is None


def test_nodes_that_other_machines_reach_need_consent(start_cluster, monkeypatch):
    found = [{"Alive": True, "NodeManagerAddress": host} for host in HOSTS]
    monkeypatch.setattr(ray, "nodes", lambda: found)
    with pytest.raises(errors.InvalidArgumentError) as raised:
        start_cluster(shards=1, data_workers=1)
    message = str(raised.value)
    assert message.startswith("`data_workers` need `insecure=True`: ")
    assert f"such as {HOSTS[1]}," in message
