"""`persia reshard`, while programs train."""

from __future__ import annotations

import threading

import numpy as np
from resharding import reshard
from training import SeededTraining, assert_same_rows

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.resharding.admin import ClusterAdmin


def slots_of(shards) -> list[int]:
    """How many slots each shard owns."""
    with ClusterAdmin([shards[0].address], 20) as admin:
        topology = admin.topology()
    by_address = {member.address: member.id for member in topology.present}
    return [
        topology.slots_of(by_address[shard.address])
        if shard.address in by_address
        else 0
        for shard in shards
    ]


def test_shards_are_added_and_removed(table, shard_process, rows_of):
    shards = [shard_process() for _ in range(3)]
    cluster = ptf.Cluster([shard.address for shard in shards[:2]], timeout=20)
    SeededTraining(steps=5).run(table, cluster)
    before = rows_of(table, cluster)
    reshard(shards, shards)
    assert sorted(slots_of(shards)) == [5461, 5461, 5462]
    assert_same_rows(rows_of(table, cluster), before)
    reshard(shards, shards[1:])
    assert slots_of(shards) == [0, 8192, 8192]
    assert_same_rows(rows_of(table, cluster), before)
    shards[0].kill()
    SeededTraining(steps=5).run(
        table, ptf.Cluster([shards[2].address], timeout=20, staleness=0)
    )


def test_training_that_runs_on_learns_the_same(table, shard_process, rows_of):
    shards = [shard_process() for _ in range(3)]
    cluster = ptf.Cluster(
        [shard.address for shard in shards[:2]], timeout=20, staleness=0
    )
    training = SeededTraining(steps=400)
    undisturbed = ptf.Cluster([shard_process().address], timeout=20, staleness=0)
    training.run(table, undisturbed)
    runner = threading.Thread(target=training.run, args=(table, cluster))
    runner.start()
    while runner.is_alive():
        reshard(shards, shards)
        reshard(shards, shards[:2])
    runner.join()
    fresh = ptf.Cluster([shards[0].address], timeout=21, staleness=0)
    assert_same_rows(rows_of(table, fresh), rows_of(table, undisturbed))


def test_a_cluster_of_one_shard_grows_while_it_pools(table, shard_process, rows_of):
    shards = [shard_process() for _ in range(2)]
    cluster = ptf.Cluster([shards[0].address], timeout=20, staleness=0)
    undisturbed = ptf.Cluster([shard_process().address], timeout=20, staleness=0)
    train_bags(table, undisturbed)
    runner = threading.Thread(target=train_bags, args=(table, cluster))
    runner.start()
    while runner.is_alive():
        reshard(shards, shards)
        reshard(shards, shards[:1])
    runner.join()
    rows, expected = rows_of(table, cluster), rows_of(table, undisturbed)
    assert rows.keys() == expected.keys()
    for row_id, row in expected.items():
        np.testing.assert_allclose(rows[row_id], row, rtol=1e-4, atol=1e-6)


def train_bags(table, cluster) -> None:
    """Trains on 300 batches of 8 bags of 3 ids."""
    keras.utils.set_random_seed(7)
    inputs = keras.Input(shape=(3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4, table=table, combiner="sum", cluster=cluster, optimizer="sgd"
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile("sgd", "mse")
    ids = np.random.default_rng(0).integers(0, 300, (2400, 3))
    labels = (ids.sum(axis=1) % 7).astype("float32")
    model.fit(ids, labels, batch_size=8, shuffle=False, verbose=0)
    cluster.flush()
