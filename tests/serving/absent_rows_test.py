"""What exports answer for ids without a row, by the `absent` of their layers."""

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until

import persia_tf as ptf
from persia_tf._keras import keras

KNOWN = np.arange(1, 33).reshape(8, 4)
MIXED = np.array([[1, 2, 100, 101], [102, 103, 102, 3], [-5, 2**40, 7, 0]])
ABSENT = ["zeros", "initial", "oov"]


@pytest.fixture
def trained(embedding):
    """Makes a model of a layer, with rows; returns it with its outputs for `MIXED`."""

    def make(absent, **options):
        layer = embedding("ids", absent=absent, oov_rate=0.2, **options)
        ids = keras.Input((4,), dtype="int64", name="ids")
        model = keras.Model(ids, keras.layers.Activation("linear")(layer(ids)))
        model(tf.constant(KNOWN), training=True)
        assert ptf.layers.OOV_ID in ids_of(layer) or absent != "oov"
        return model, layer

    return make


def ids_of(layer):
    return {int(each) for page in layer.rows.export() for each in page.ids}


def predictions(model):
    ptf.flush()
    return np.asarray(model(tf.constant(MIXED), training=False))


def answers(path):
    serve = tf.saved_model.load(path).signatures["serving_default"]
    [found] = serve(ids=tf.constant(MIXED)).values()
    return found.numpy()


def modes_of(cluster):
    return ["standalone"] if cluster.is_embedded else ["standalone", "remote"]


@pytest.mark.parametrize("combiner", [None, "sum"])
@pytest.mark.parametrize("mask_zero", [False, True])
@pytest.mark.parametrize("absent", ABSENT)
def test_they_answer_as_the_model(trained, path, cluster, absent, combiner, mask_zero):
    model, _ = trained(absent, combiner=combiner, mask_zero=mask_zero)
    expected = predictions(model)
    for mode in modes_of(cluster):
        ptf.serving.export(model, f"{path}_{mode}", mode=mode)
        found = answers(f"{path}_{mode}")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "initializer",
    [
        keras.initializers.RandomUniform(seed=4),
        keras.initializers.TruncatedNormal(seed=4),
        "glorot_uniform",
        keras.initializers.Constant(3.0),
    ],
    ids=["uniform", "truncated_normal", "glorot_uniform", "constant"],
)
def test_initial_values_of_every_initializer(table, path, initializer):
    ids = keras.Input((4,), dtype="int64", name="ids")
    layer = ptf.layers.PersiaEmbedding(
        *(6,), table=table, embeddings_initializer=initializer, absent="initial"
    )
    model = keras.Model(ids, layer(ids))
    expected = predictions(model)
    assert expected.all()
    ptf.serving.export(model, path)
    np.testing.assert_allclose(answers(path), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("row_dtype", ["float16", "int8"])
def test_unknown_ids_are_told_from_others_in_every_row_dtype(trained, path, row_dtype):
    model, layer = trained("oov")
    layer.rows.assign([ptf.layers.OOV_ID], np.full((1, 4), 2.0, np.float32))
    ptf.serving.export(model, path, row_dtype=row_dtype)
    np.testing.assert_allclose(answers(path), predictions(model), rtol=0, atol=0.01)


def test_a_choice_of_rows_keeps_that_of_unknown_ids(trained, path):
    model, layer = trained("oov", capacity=1000)
    expected = layer.rows.lookup([ptf.layers.OOV_ID])
    exported = ptf.serving.export(model, path, rows=ptf.serving.KeepRows(top=1))
    assert exported.tables[0].rows == 2
    found = answers(path)
    unknown = found[(found == expected).all(axis=-1)]
    assert len(unknown) >= MIXED.size - 1


@pytest.mark.parametrize("cluster", [2], indirect=True, ids=["shards"])
@pytest.mark.parametrize("absent", ABSENT)
def test_copies_in_a_server_answer_alike(trained, path, absent):
    model, _ = trained(absent)
    expected = predictions(model)
    remote = ptf.serving.Remote(hot_rows=1000, hot_seconds=3600)
    ptf.serving.export(model, path, mode="remote", remote=remote)
    for _ in range(2):
        np.testing.assert_allclose(answers(path), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cluster", [2], indirect=True, ids=["shards"])
@pytest.mark.parametrize("mode", ["standalone", "remote"])
@pytest.mark.parametrize("absent", ["initial", "oov"])
def test_an_unknown_id_becomes_known_while_it_is_followed(
    trained, path, cluster, absent, mode
):
    model, layer = trained(absent)
    options = {}
    if mode == "remote":
        options["remote"] = ptf.serving.Remote(hot_rows=1000, hot_seconds=3600)
    ptf.serving.export(model, path, mode=mode, **options)
    loaded = tf.saved_model.load(path)
    serve = loaded.signatures["serving_default"]

    def answer():
        [found] = serve(ids=tf.constant(MIXED)).values()
        return found.numpy()

    before = answer()
    np.testing.assert_allclose(before, predictions(model), rtol=0, atol=1e-6)
    with ptf.serving.Follower(loaded, cluster) as follower:
        follower.wait_until_current(60)
        layer.rows.assign([100], np.full((1, 4), 9.0, np.float32))
        follower.wait_until_current(60)
        wait_until(lambda: (answer()[0, 2] == 9).all(), "the new row")
    np.testing.assert_allclose(answer()[0, 3], before[0, 3], rtol=0, atol=1e-6)
