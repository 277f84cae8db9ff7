"""The share of each id in training, counted in a table."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers.sampling_probability import TOTAL_ID

IDS = np.array([7, 7, 7, -1, 7, 2**62, -1, 7])
KNOWN = np.array([7, -1, 2**62])
COUNTS = [5, 2, 1]
TARGETS = np.ones(len(IDS), "float32")


@pytest.fixture
def make(table):
    """Makes a model that gives the share of each id."""

    def of(cluster, **options):
        ids = keras.Input((), dtype="int64")
        layer = ptf.layers.SamplingProbability(table=table, cluster=cluster, **options)
        model = keras.Model(ids, layer(ids))
        model.compile("adam", "mse")
        return model

    return of


def layer_of(model):
    (layer,) = (
        each
        for each in model.layers
        if isinstance(each, ptf.layers.SamplingProbability)
    )
    return layer


def counts_of(model, ids=KNOWN):
    return layer_of(model).rows.lookup(ids)[:, 0].tolist()


def total_of(model):
    return counts_of(model, [TOTAL_ID])[0]


def batches(size=4):
    return tf.data.Dataset.from_tensor_slices((IDS, TARGETS)).batch(size)


@pytest.mark.parametrize("staleness", [0, 4])
def test_each_id_is_counted_once_each_time(make, cluster, staleness):
    model = make(cluster)
    data = ptf.data.prefetch(batches(), model, staleness)
    model.fit(data, epochs=5, verbose=0)
    assert counts_of(model) == [5 * count for count in COUNTS]
    assert total_of(model) == 5 * len(IDS)
    assert len(layer_of(model).rows) == len(KNOWN) + 1


def test_the_result_is_the_share_so_far_and_of_the_call(make, shards):
    model = make(shards)
    model.fit(batches(), verbose=0)
    shares = model.predict(np.array([7, 2**62, 99, 99]), verbose=0)
    np.testing.assert_allclose(shares, np.array([6, 2, 1, 1]) / (8 + 4), rtol=1e-6)


def test_training_sees_the_counts_of_the_steps_before(table, shards):
    layer = ptf.layers.SamplingProbability(table=table, cluster=shards)
    optimizer = keras.optimizers.SGD()
    seen = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            share = layer(tf.constant([[1, 1], [2, 1]]), training=True)
            loss = tf.reduce_sum(share)
        weights = layer.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        seen.append(share.numpy())
    np.testing.assert_allclose(seen[0], np.full((2, 2), 1 / 4))
    np.testing.assert_allclose(seen[1], [[4 / 8, 4 / 8], [2 / 8, 4 / 8]])


def test_the_loss_does_not_change_what_is_counted(make, cluster):
    model = make(cluster)
    model.compile("adam", lambda true, share: 1e3 * tf.clip_by_value(share, 2.0, 3.0))
    model.fit(batches(), verbose=0)
    assert counts_of(model) == COUNTS


def test_only_training_counts(make, cluster):
    model = make(cluster)
    model.fit(batches(), verbose=0)
    model.evaluate(batches(), verbose=0)
    model.predict(IDS, verbose=0)
    assert counts_of(model) == COUNTS
    layer_of(model).trainable = False
    model.compile("adam", "mse")
    model.fit(batches(), verbose=0)
    assert counts_of(model) == COUNTS


def test_strings(table, cluster):
    ids = keras.Input((), dtype="string")
    layer = ptf.layers.SamplingProbability(table=table, cluster=cluster)
    model = keras.Model(ids, layer(ids))
    model.compile("adam", "mse")
    films = tf.constant(["Heat", "Fargo", "Heat"])
    model.fit(tf.data.Dataset.from_tensors((films, tf.ones(3))), verbose=0)
    share = model.predict(tf.data.Dataset.from_tensors(films), verbose=0)
    np.testing.assert_allclose(share, [3 / 6, 2 / 6, 3 / 6], rtol=1e-6)


def test_counts_are_saved_with_the_model(make, shards, tmp_path):
    model = make(shards)
    model.fit(batches(), verbose=0)
    model.save(tmp_path / "model.keras")
    layer_of(model).rows.assign(KNOWN, np.zeros((3, 1), "float32"))
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert counts_of(loaded) == COUNTS
    loaded.fit(batches(), verbose=0)
    assert counts_of(loaded) == [2 * count for count in COUNTS]


def test_halving_all_counts_keeps_the_shares(make, cluster):
    model = make(cluster)
    model.fit(batches(), verbose=0)
    rows = layer_of(model).rows
    for batch in rows.export():
        rows.assign(batch.ids, batch.rows / 2)
    assert counts_of(model) == [2.5, 1, 0.5]
    assert total_of(model) == 4


def test_float16_is_refused(table, cluster):
    layer = ptf.layers.SamplingProbability(
        table=table, cluster=cluster, dtype="mixed_float16"
    )
    with pytest.raises(NotImplementedError, match="scaled loss"):
        layer(tf.constant([1]), training=True)


def test_a_cluster_that_sends_float16_is_refused(table, start_shards):
    (shard,) = start_shards(1)
    cluster = ptf.Cluster([shard.address], wire_dtype="float16")
    layer = ptf.layers.SamplingProbability(table=table, cluster=cluster)
    with pytest.raises(ValueError, match="`cluster` must not send rows as float16"):
        layer(tf.constant([1]), training=True)


def test_ragged_ids_are_refused(table, cluster):
    layer = ptf.layers.SamplingProbability(table=table, cluster=cluster)
    with pytest.raises(TypeError, match="dense tensor. Received: RaggedTensor"):
        layer.call(tf.ragged.constant([[1], [2, 3]]))


def test_a_table_must_be_named():
    with pytest.raises(TypeError, match="`table` must be a str"):
        ptf.layers.SamplingProbability(table=3)


@pytest.mark.skipif(not IS_KERAS_3, reason="keras_rs needs Keras 3")
def test_keras_rs_corrects_scores_by_it(table, cluster):
    keras_rs = pytest.importorskip("keras_rs")
    ids = keras.Input((), dtype="int64")
    layer = ptf.layers.SamplingProbability(table=table, cluster=cluster)
    correct = keras_rs.layers.SamplingProbabilityCorrection(epsilon=1e-12)
    model = keras.Model(ids, correct(keras.ops.zeros(4), layer(ids)))
    model.compile("adam", "mse")
    model.fit(batches(), verbose=0)
    assert counts_of(model) == COUNTS
    scores = model.predict(np.array([7, -1, 2**62, 99]), verbose=0)
    np.testing.assert_allclose(scores, -np.log(np.array([6, 3, 2, 1]) / 12), rtol=1e-5)
