"""TensorFlow's checkpoints of a model hold its rows, and SavedModels do not."""

import numpy as np
import pytest
import tensorflow as tf
from training import assert_same_rows

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

IDS = np.random.default_rng(0).integers(-1000, 1000, (64, 3))


def make_model(table, cluster):
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
    inputs = keras.Input((3,), dtype="int64")
    outputs = keras.layers.Dense(1)(keras.layers.Flatten()(layer(inputs)))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    return model


def train(model):
    model.fit(IDS, np.ones((64, 1)), batch_size=16, verbose=0)
    return model


def test_a_checkpoint_holds_rows(table, cluster, other_shards, tmp_path, rows_of):
    model = train(make_model(table, cluster))
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "ckpt"))
    again = make_model(table, other_shards)
    status = tf.train.Checkpoint(model=again).restore(path)
    status.assert_existing_objects_matched()
    assert_same_rows(rows_of(table, other_shards), rows_of(table, cluster))
    scores = model.predict(IDS, verbose=0)
    np.testing.assert_allclose(again.predict(IDS, verbose=0), scores, atol=1e-6)


def test_rows_of_a_layer_that_is_not_built_are_restored_when_it_is(
    table, shards, other_shards, tmp_path, rows_of
):
    layer = train(make_model(table, shards)).layers[1]
    path = tf.train.Checkpoint(layer=layer).save(str(tmp_path / "ckpt"))
    again = ptf.layers.PersiaEmbedding(4, table=table, cluster=other_shards)
    tf.train.Checkpoint(layer=again).restore(path)
    again.build((None, 3))
    assert_same_rows(rows_of(table, other_shards), rows_of(table, shards))


def test_rows_may_stay_out_of_a_checkpoint(table, shards, tmp_path, rows_of, caplog):
    model = train(make_model(table, shards))
    checkpoint = tf.train.Checkpoint(model=model)
    with ptf.rows_stay():
        path = checkpoint.save(str(tmp_path / "ckpt"))
    train(model)
    expected = rows_of(table, shards)
    with caplog.at_level("WARNING", logger="absl"):
        checkpoint.restore(path)
    assert "holds no rows" in caplog.text
    assert_same_rows(rows_of(table, shards), expected)


@pytest.mark.skipif(IS_KERAS_3, reason="a format of tf_keras")
def test_weights_in_the_format_of_tensorflow_hold_rows(
    table, shards, other_shards, tmp_path, rows_of
):
    train(make_model(table, shards)).save_weights(str(tmp_path / "weights"))
    again = make_model(table, other_shards)
    again.load_weights(str(tmp_path / "weights"))
    assert_same_rows(rows_of(table, other_shards), rows_of(table, shards))


def folder_bytes(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files)


@pytest.mark.slow
def test_a_saved_model_holds_no_rows(table, shards, tmp_path, rows_of, caplog):
    model = train(make_model(table, shards))
    scores = model.predict(IDS, verbose=0)
    signature = [tf.TensorSpec((None, 3), tf.int64)]

    def export(name):
        serve = tf.function(lambda ids: model(ids, training=False), signature)
        with caplog.at_level("WARNING", logger="absl"):
            tf.saved_model.save(model, str(tmp_path / name), signatures=serve)
        return folder_bytes(tmp_path / name)

    few = export("few")
    assert f"does not contain the rows of table '{table}'" in caplog.text
    ptf.Table(table, shards).assign(np.arange(10**5) + 5000, np.ones((10**5, 4)))
    assert export("many") < few + 10**4
    expected = rows_of(table, shards)
    loaded = tf.saved_model.load(str(tmp_path / "few"))
    found = loaded.signatures["serving_default"](tf.constant(IDS))
    np.testing.assert_allclose([*found.values()][0], scores, atol=1e-6)
    assert_same_rows(rows_of(table, shards), expected)
