"""Rows do not depend on how many shards hold them."""

import numpy as np
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, size=(200,))


def train(cluster, table):
    layer = ptf.layers.PersiaEmbedding(
        8,
        table=table,
        embeddings_initializer="normal",
        optimizer="adam",
        cluster=cluster,
    )
    optimizer = keras.optimizers.SGD()
    created = np.array(layer(tf.constant(IDS), training=True))
    for step in range(5):
        with tf.GradientTape() as tape:
            rows = layer(tf.constant(np.roll(IDS, step)[:150]), training=True)
            loss = tf.reduce_sum(rows**3)
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
        cluster.flush()
    return created, np.array(layer(tf.constant(IDS), training=False))


def test_rows_are_the_same_for_1_2_and_5_shards_and_embedded(start_shards, table):
    results = [train(ptf.Cluster.embedded(), table)]
    for count in (1, 2, 5):
        shards = start_shards(count)
        cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
        results.append(train(cluster, table))
        held = [found.rows for p in cluster.stats() for found in p.tables]
        assert sum(held) == len(IDS)
        assert all(held)
    for created, trained in results[1:]:
        np.testing.assert_array_equal(created, results[0][0])
        np.testing.assert_array_equal(trained, results[0][1])
    assert not np.array_equal(results[0][0], results[0][1])


def test_rows_depend_on_the_table_and_the_seed(table):
    def rows(name, seed):
        initializer = keras.initializers.RandomUniform(seed=seed)
        layer = ptf.layers.PersiaEmbedding(
            8, table=name, embeddings_initializer=initializer
        )
        return np.array(layer(tf.constant(IDS), training=True))

    first = rows(table + "_a", 1)
    assert not np.array_equal(first, rows(table + "_b", 1))
    assert not np.array_equal(rows(table + "_c", 1), rows(table + "_d", 2))
