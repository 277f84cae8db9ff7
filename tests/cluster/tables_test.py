"""Tables on external shards: names, settings, attaching."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras


@pytest.fixture
def shards(start_shards):
    return start_shards(2)


def cluster_of(shards, **options):
    addresses = [shard.address for shard in shards]
    return ptf.Cluster(addresses, **{"timeout": 20, **options})


def build_layer(table, cluster):
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build((None,))


def test_automatic_layer_name_is_refused_on_external_shards(shards):
    layer = ptf.layers.PersiaEmbedding(4, cluster=cluster_of(shards))
    with pytest.raises(ValueError, match="automatic name.*`table=`"):
        layer.build((None,))


def test_automatic_layer_name_stays_refused_in_a_clone(shards):
    layer = ptf.layers.PersiaEmbedding(4, cluster=cluster_of(shards))
    copy = ptf.layers.PersiaEmbedding.from_config(layer.get_config())
    with pytest.raises(ValueError, match="automatic name"):
        copy.build((None,))


def test_explicit_layer_name_names_the_table(shards, table):
    cluster = cluster_of(shards)
    ptf.layers.PersiaEmbedding(4, name=table, cluster=cluster).build((None,))
    assert [found.name for found in cluster.stats()[0].tables] == [table]


@pytest.mark.parametrize(
    "other",
    [
        {"output_dim": 8},
        {"optimizer": "adam"},
        {"optimizer": ptf.optimizers.Adagrad(epsilon=1e-3)},
        {"embeddings_initializer": "zeros"},
        {"embeddings_initializer": keras.initializers.RandomUniform(seed=3)},
    ],
)
def test_layers_that_give_a_table_different_settings_are_refused(other, shards, table):
    settings = {
        "output_dim": 4,
        "table": table,
        "optimizer": "adagrad",
        "cluster": cluster_of(shards),
    }
    ptf.layers.PersiaEmbedding(**settings).build((None,))
    with pytest.raises(errors.AlreadyExistsError) as raised:
        ptf.layers.PersiaEmbedding(**{**settings, **other}).build((None,))
    message = str(raised.value)
    assert table in message
    difference = message.partition("settings: ")[2]
    assert {"first", "now"} <= set(difference.split())


def test_programs_that_give_a_table_different_settings_are_refused(shards, table):
    ptf.layers.PersiaEmbedding(
        4, table=table, optimizer="adagrad", cluster=cluster_of(shards)
    ).build(())
    # A different timeout gives a session of its own, as another program would have.
    later = cluster_of(shards, timeout=21)
    with pytest.raises(errors.AlreadyExistsError) as raised:
        ptf.layers.PersiaEmbedding(
            4, table=table, optimizer="adam", cluster=later
        ).build(())
    assert "adagrad" in str(raised.value)
    assert "adam" in str(raised.value)


def test_a_later_program_attaches_and_finds_the_rows(shards, table):
    ids = tf.range(10, dtype=tf.int64)
    first = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster_of(shards))
    rows = np.array(first(ids, training=True))
    # A different timeout gives a session of its own, as another program would have.
    later = cluster_of(shards, timeout=21)
    second = ptf.layers.PersiaEmbedding(4, table=table, cluster=later)
    np.testing.assert_array_equal(np.array(second(ids, training=False)), rows)


OTHER_LISTS = [lambda all: all[::-1], lambda all: all[:1], lambda all: all[1:]]


@pytest.mark.parametrize("listed", OTHER_LISTS)
def test_any_list_of_a_clusters_shards_finds_the_rows(shards, table, listed):
    ids = tf.range(500, dtype=tf.int64)
    first = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster_of(shards))
    rows = np.array(first(ids, training=True))
    other = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster_of(listed(shards))
    )
    np.testing.assert_array_equal(np.array(other(ids, training=False)), rows)


@pytest.mark.parametrize("listed", OTHER_LISTS)
def test_jobs_may_list_the_shards_differently(shards, table, listed):
    ids = tf.range(500, dtype=tf.int64)
    layers = [
        ptf.layers.PersiaEmbedding(
            4, table=table, cluster=cluster_of(addresses, namespace=namespace)
        )
        for namespace, addresses in (("a", shards), ("b", listed(shards)))
    ]
    rows = [np.array(layer(ids, training=True)) for layer in layers]
    for layer, expected in zip(layers, rows):
        np.testing.assert_array_equal(np.array(layer(ids)), expected)


def test_a_shard_that_is_not_in_the_cluster_is_refused(shards, start_shards, table):
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster_of(shards)).build(())
    [more] = start_shards(1)
    with pytest.raises(errors.FailedPreconditionError, match="a shard of no cluster"):
        ptf.layers.PersiaEmbedding(
            4, table=table, cluster=cluster_of([*shards, more])
        ).build(())


def test_namespaces_keep_jobs_apart(shards, table):
    ids = tf.range(10, dtype=tf.int64)
    for namespace, optimizer in (("a", "adam"), ("b", "sgd")):
        cluster = cluster_of(shards, namespace=namespace)
        layer = ptf.layers.PersiaEmbedding(
            4, table=table, optimizer=optimizer, cluster=cluster
        )
        layer(ids, training=True)
    names = {found.name for found in cluster.stats()[0].tables}
    assert names == {f"a/{table}", f"b/{table}"}


@pytest.mark.parametrize(
    ("first", "now", "received"),
    [
        ({"staleness": 2}, {}, "staleness=4, after staleness=2"),
        ({}, {"wire_dtype": "int8"}, "wire_dtype='int8', after wire_dtype='float32'"),
        ({}, {"hot_rows": 9}, "hot_rows=9, after hot_rows=0"),
    ],
)
def test_layers_of_the_same_shards_must_agree(first, now, received, shards, table):
    build_layer(table, cluster_of(shards, **first))
    build_layer(table, cluster_of(shards, namespace="any", **first))
    with pytest.raises(ValueError, match=received) as raised:
        build_layer(table, cluster_of(shards, **now))
    assert shards[0].address in str(raised.value)


def test_embedded_layers_must_agree(table):
    build_layer(table, ptf.Cluster.embedded())
    build_layer(table, ptf.Cluster.embedded(timeout=3, namespace="any"))
    with pytest.raises(ValueError, match="embedded.*staleness=0, after staleness=4"):
        build_layer(table, ptf.Cluster.embedded(staleness=0))


def test_who_only_reads_need_not_agree(shards, table):
    build_layer(table, cluster_of(shards, staleness=2))
    assert len(ptf.Table(table, cluster_of(shards))) == 0
    assert cluster_of(shards).stats()
    cluster_of(shards).flush()
