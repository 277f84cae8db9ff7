"""Tables that are cleared or dropped, embedded and on shards, and their layers."""

import re

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras

IDS = np.arange(32, dtype="int64")


@pytest.fixture
def build(cluster, table):
    """Builds a model on the test's table."""

    def make(dim=4, **options):
        user = keras.Input((), dtype="int64")
        rows = ptf.layers.PersiaEmbedding(
            *(dim,),
            table=table,
            cluster=cluster,
            embeddings_initializer=keras.initializers.RandomUniform(seed=1),
            **{"optimizer": ptf.optimizers.Adagrad(0.1), **options},
        )(user)
        model = keras.Model(user, keras.layers.Dense(1)(rows))
        model.compile("sgd", "mse")
        return model

    return make


def train(model):
    model.fit(IDS, np.ones((32, 1), "float32"), batch_size=8, verbose=0)


def rows_in(table, cluster):
    return {
        int(row_id): row.tolist()
        for batch in ptf.Table(table, cluster).export()
        for row_id, row in zip(batch.ids, batch.rows)
    }


def test_a_cleared_table_has_no_rows_and_trains_on(build, table, cluster):
    model = build()
    train(model)
    assert ptf.Table(table, cluster).clear() == 32
    assert len(ptf.Table(table, cluster)) == 0
    train(model)
    assert len(ptf.Table(table, cluster)) == 32


def test_rows_of_a_cleared_table_begin_as_they_began(build, table, cluster):
    model = build()
    first = np.array(model.layers[1](IDS, training=True))
    train(model)
    assert np.abs(np.array(model.layers[1](IDS)) - first).max() > 0
    ptf.Table(table, cluster).clear()
    np.testing.assert_array_equal(model.layers[1](IDS, training=True), first)


def test_a_cleared_table_keeps_its_settings(build, table, cluster):
    train(build())
    ptf.Table(table, cluster).clear()
    with pytest.raises(errors.AlreadyExistsError):
        build(dim=8)


def test_a_dropped_table_is_gone(build, table, cluster):
    train(build())
    rows = ptf.Table(table, cluster)
    assert rows.drop() == 32
    for call in (rows.drop, rows.clear, rows.__len__):
        with pytest.raises(errors.NotFoundError, match=f"no table '{table}'"):
            call()


@pytest.mark.parametrize("other", [{"dim": 8}, {"optimizer": "adam"}])
def test_a_dropped_table_can_be_made_with_other_settings(build, table, cluster, other):
    train(build())
    ptf.Table(table, cluster).drop()
    train(build(**other))
    assert len(ptf.Table(table, cluster)) == 32


def test_a_dropped_table_can_be_made_with_another_compression(build, table, cluster):
    train(build(compression=ptf.compression.HashStack(buckets=8)))
    ptf.Table(table, cluster).drop()
    train(build())
    assert len(ptf.Table(table, cluster)) == 32


def test_a_table_that_is_made_anew_begins_without_rows(build, table, cluster):
    train(build())
    first = rows_in(table, cluster)
    ptf.Table(table, cluster).drop()
    model = build()
    assert len(ptf.Table(table, cluster)) == 0
    model.layers[1](IDS, training=True)
    assert rows_in(table, cluster).keys() == first.keys()
    assert rows_in(table, cluster) != first


@pytest.mark.parametrize("step", ["fit", "predict", "train_on_batch", "eager"])
def test_the_next_step_of_a_layer_whose_table_was_dropped_says_so(
    build, table, cluster, step
):
    model = build()
    train(model)
    ptf.Table(table, cluster).drop()
    calls = {
        "fit": lambda: train(model),
        "predict": lambda: model.predict(IDS, verbose=0),
        "train_on_batch": lambda: model.train_on_batch(IDS, np.ones((32, 1))),
        "eager": lambda: model(tf.constant(IDS), training=True),
    }
    with pytest.raises(tf.errors.NotFoundError) as raised:
        calls[step]()
    assert f"table '{table}' was dropped" in str(raised.value)
    assert "Build the model again" in str(raised.value)


def test_layers_of_before_do_not_train_a_table_that_was_made_anew(
    build, table, cluster
):
    old = build()
    train(old)
    ptf.Table(table, cluster).drop()
    new = build()
    train(new)
    rows = rows_in(table, cluster)
    with pytest.raises(tf.errors.NotFoundError, match="was dropped"):
        train(old)
    assert rows_in(table, cluster) == rows
    train(new)


def test_a_prefetching_step_of_a_dropped_table_says_so(build, table, cluster):
    model = build()
    data = tf.data.Dataset.from_tensor_slices((IDS, np.ones((32, 1), "float32")))
    data = ptf.data.prefetch(data.batch(8), model, staleness=2)
    model.fit(data, verbose=0)
    ptf.Table(table, cluster).drop()
    with pytest.raises(tf.errors.NotFoundError, match=f"'{table}' was dropped"):
        model.fit(data, verbose=0)


def test_layers_of_other_tables_train_on(build, table, cluster):
    other = ptf.layers.PersiaEmbedding(4, table=f"{table}_b", cluster=cluster)
    other(IDS, training=True)
    train(build())
    ptf.Table(table, cluster).drop()
    np.testing.assert_array_equal(other(IDS), other(IDS, training=True))


def test_the_error_for_other_settings_says_what_to_do_and_that_works(
    build, table, cluster
):
    train(build())
    with pytest.raises(errors.AlreadyExistsError) as raised:
        build(dim=8)
    [remedy] = re.findall(r"`(ptf\.Table\([^`]*\)\.drop\(\))`", str(raised.value))
    if not cluster.is_embedded:  # The remedy uses the default cluster.
        remedy = remedy.replace("')", "', cluster)")
    eval(remedy, {"ptf": ptf, "cluster": cluster})
    train(build(dim=8))


def test_a_table_that_another_program_dropped_can_be_made_anew(
    build, table, start_shards
):
    shards = [shard.address for shard in start_shards(2)]
    one, other = (ptf.Cluster(shards, timeout=timeout) for timeout in (20, 21))
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=one)
    layer(IDS, training=True)
    ptf.Table(table, other).drop()
    with pytest.raises(tf.errors.NotFoundError, match=f'"{table}" was dropped'):
        layer(IDS, training=True)
    # With another width, although this program has seen the first.
    again = ptf.layers.PersiaEmbedding(8, table=table, cluster=one)
    assert again(IDS, training=True).shape == (32, 8)


@pytest.mark.parametrize("row_optimizer", ["sgd", None])
def test_an_update_of_a_table_that_another_program_dropped_is_an_error(
    row_optimizer, table, start_shards
):
    shards = [shard.address for shard in start_shards(2)]
    one, other = (ptf.Cluster(shards, timeout=timeout) for timeout in (20, 21))
    options = {"table": table, "optimizer": row_optimizer, "cluster": one}
    layer = ptf.layers.PersiaEmbedding(4, **options)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(IDS, training=True))
    gradients = tape.gradient(loss, layer.trainable_variables)
    ptf.Table(table, other).drop()
    optimizer = keras.optimizers.SGD()
    with pytest.raises(errors.NotFoundError, match=f".{table}. was dropped"):
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
        one.flush()
    again = ptf.layers.PersiaEmbedding(4, **options)
    again(IDS, training=True)


def test_the_next_checkpoint_is_whole_and_brings_no_dropped_table_back(
    build, table, cluster, start_shards, tmp_path, caplog
):
    root = {"checkpoint_root": str(tmp_path)}
    if not cluster.is_embedded:
        shards = start_shards(2, **root)
        cluster.shards = tuple(shard.address for shard in shards)
    train(build())
    keeps = ptf.layers.PersiaEmbedding(4, table=f"{table}_b", cluster=cluster)
    keeps(IDS, training=True)
    ptf.checkpoint.save(tmp_path / "run", cluster=cluster)
    ptf.Table(table, cluster).drop()
    saved = ptf.checkpoint.save(tmp_path / "run", cluster=cluster, incremental=True)
    assert not saved.is_incremental
    ptf.Table(f"{table}_b", cluster).drop()
    ptf.checkpoint.restore(saved.folder, cluster=cluster)
    names = {each.name for process in cluster.stats() for each in process.tables}
    assert f"{table}_b" in names
    assert table not in names


def test_a_table_is_dropped_behind_embedding_workers(table, start_shards, start_worker):
    shards = [shard.address for shard in start_shards(2)]
    workers = [start_worker(shards, cache_rows=100) for _ in range(2)]
    cluster = ptf.Cluster(workers, timeout=20)
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
    initial = np.array(layer(IDS, training=True))
    ptf.Table(table, cluster).assign(IDS, np.ones((32, 4)))
    np.testing.assert_array_equal(layer(IDS, training=True), np.ones((32, 4)))
    assert ptf.Table(table, cluster).clear() == 32
    np.testing.assert_array_equal(layer(IDS, training=True), initial)
    assert ptf.Table(table, cluster).drop() == 32
    again = ptf.layers.PersiaEmbedding(8, table=table, cluster=cluster)
    assert again(IDS, training=True).shape == (32, 8)
    assert len(ptf.Table(table, cluster)) == 32


def test_a_shard_that_comes_back_has_no_dropped_table(table, shard_process):
    shard = shard_process(options=["--recovery-folder=recovery"])
    cluster = ptf.Cluster([shard.address], timeout=30)
    for name in (table, f"{table}_b"):
        ptf.layers.PersiaEmbedding(4, table=name, cluster=cluster)(IDS, training=True)
    ptf.Table(table, cluster).drop()
    ptf.Table(f"{table}_b", cluster).clear()
    shard.kill()
    shard.start()
    assert len(ptf.Table(f"{table}_b", cluster)) == 0
    with pytest.raises(errors.NotFoundError):
        len(ptf.Table(table, cluster))
