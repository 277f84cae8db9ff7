"""What PersiaEmbedding takes, refuses, and writes into its config."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.mark.parametrize("output_dim", [0, -1, 65537])
def test_output_dim_out_of_range_is_refused(output_dim):
    with pytest.raises(ValueError, match=rf"1 to 65536.*output_dim={output_dim}"):
        ptf.layers.PersiaEmbedding(output_dim)


@pytest.mark.parametrize("output_dim", [1.5, "4", True])
def test_output_dim_must_be_an_integer(output_dim):
    with pytest.raises(TypeError, match="must be an integer"):
        ptf.layers.PersiaEmbedding(output_dim)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": 3}, "`table` must be a str or None. Received: table=3"),
        ({"mask_zero": "no"}, "`mask_zero` must be a bool. Received: mask_zero='no'"),
        ({"cluster": "a:1"}, "`cluster` must be a ptf.Cluster or None.*='a:1'"),
        ({"cluster": ["a:1"]}, "`cluster` must be a ptf.Cluster or None"),
    ],
)
def test_an_argument_of_another_type_is_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        ptf.layers.PersiaEmbedding(4, **arguments)


@pytest.mark.parametrize("optimizer", ["adagradd", 3, "adamax"])
def test_unknown_optimizer_is_refused_with_the_known_ones(optimizer):
    with pytest.raises(ValueError, match="'adagrad', 'adam', .*'sgd'"):
        ptf.layers.PersiaEmbedding(4, optimizer=optimizer)


def test_keras_optimizer_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="persia_tf.optimizers"):
        ptf.layers.PersiaEmbedding(4, optimizer=keras.optimizers.Adam())


@pytest.mark.parametrize("initializer", ["uniformm", "orthogonal", 7])
def test_unknown_initializer_is_refused_with_the_known_ones(initializer):
    with pytest.raises(ValueError, match="GlorotUniform.*embeddings_initializer="):
        ptf.layers.PersiaEmbedding(4, embeddings_initializer=initializer)


@pytest.mark.parametrize("initializer", ["he_normal", "lecun_uniform"])
def test_an_initializer_that_needs_the_number_of_rows_is_refused_with_its_equal(
    initializer,
):
    with pytest.raises(ValueError, match=r"TruncatedNormal\(stddev=1.137 \* \(2 / n"):
        ptf.layers.PersiaEmbedding(4, embeddings_initializer=initializer)


def test_the_equal_of_he_normal_is_it():
    rows = 5000
    own = keras.initializers.HeNormal(seed=1)((rows, 16))
    equal = keras.initializers.TruncatedNormal(stddev=1.137 * (2 / rows) ** 0.5, seed=1)
    np.testing.assert_allclose(own, equal((rows, 16)), rtol=1e-3)


def test_glorot_uniform_says_once_that_it_is_of_a_row(table, caplog):
    layer = ptf.layers.PersiaEmbedding(
        5, table=table, embeddings_initializer="glorot_uniform"
    )
    for _ in range(2):
        layer(np.arange(3), training=True)
    [told] = [text for text in caplog.messages if "glorot_uniform" in text]
    assert "[-1, 1]" in told
    assert "RandomUniform(-limit, limit)" in told
    caplog.clear()
    ptf.layers.PersiaEmbedding(5, table=f"{table}_b")(np.arange(3), training=True)
    assert not [text for text in caplog.messages if "glorot_uniform" in text]


def test_unknown_combiner_is_refused():
    with pytest.raises(ValueError, match="combiner='max'"):
        ptf.layers.PersiaEmbedding(4, combiner="max")


def test_config_round_trip(table):
    layer = ptf.layers.PersiaEmbedding(
        4,
        table=table,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=0.5, seed=7),
        optimizer=ptf.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
        combiner="mean",
        mask_zero=True,
        cluster=ptf.Cluster.embedded(namespace="job"),
        name="items",
    )
    config = layer.get_config()
    copy = ptf.layers.PersiaEmbedding.from_config(config)
    assert copy.get_config() == config
    assert copy.optimizer.spec() == layer.optimizer.spec()
    assert copy.cluster.namespace == "job"
    assert copy.combiner == "mean"


def test_model_config_round_trip_finds_the_same_rows(table):
    inputs = keras.Input(shape=(), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(4, table=table, optimizer="adam")
    model = keras.Model(inputs, layer(inputs))
    ids = np.array([1, 2, 3])
    rows = np.array(layer(ids, training=True))
    clone = keras.models.clone_model(model)
    np.testing.assert_array_equal(clone.predict(ids, verbose=0), rows)


def test_keras_initializer_seed_none_means_the_same_rows_everywhere():
    from persia_tf.table_settings import initializers

    uniform = initializers.get("uniform")
    assert initializers.spec_and_seed(uniform) == (
        "uniform(minval=-0.05,maxval=0.05)",
        0,
    )
