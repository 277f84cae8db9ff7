"""The stores of this process, and how they are freed."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.client import embedded

IDS = np.arange(16, dtype="int64")


def layer_on(table, dim=4):
    return ptf.layers.PersiaEmbedding(dim, table=table)


def test_reset_frees_every_table(table):
    for name in (table, f"{table}_b"):
        layer_on(name)(IDS, training=True)
    ptf.reset()
    assert ptf.Cluster.embedded().stats()[0].tables == ()


def test_reset_of_nothing_does_nothing():
    ptf.reset()
    ptf.reset()


def test_after_reset_a_table_has_any_settings(table):
    layer_on(table)(IDS, training=True)
    ptf.reset()
    assert layer_on(table, dim=8)(IDS, training=True).shape == (16, 8)


def test_after_reset_layers_say_that_the_model_must_be_built_again(table):
    layer = layer_on(table)
    layer(IDS, training=True)
    ptf.reset()
    with pytest.raises(tf.errors.NotFoundError, match=f"'{table}' was dropped"):
        layer(IDS, training=True)


def test_reset_waits_for_updates(table):
    user = keras.Input((), dtype="int64")
    model = keras.Model(user, layer_on(table)(user))
    model.compile("sgd", "mse")
    model.fit(IDS, np.ones((16, 4), "float32"), batch_size=2, verbose=0)
    ptf.reset()
    session = ptf.Cluster.embedded().session
    assert session.counters()["updates_pending"] == 0
    session.flush()  # No push was lost.


def test_reset_leaves_shards_alone(table, start_shards):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=20)
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)(IDS, training=True)
    ptf.reset()
    assert len(ptf.Table(table, cluster)) == 16


def test_a_store_that_is_begun_has_no_rows_and_can_be_ended(table):
    first = layer_on(table)
    first(IDS, training=True)
    left = embedded.current_store()
    embedded.begin_store()
    second = layer_on(table)
    second(IDS[:3], training=True)
    assert len(ptf.Table(table)) == 3
    assert len(first.rows) == 16
    del first
    ptf.reset()
    embedded.end_store(left)
    assert left not in embedded.stores()
