"""What PersiaEmbedding takes, refuses, and writes into its config."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.mark.parametrize("output_dim", [0, -1])
def test_output_dim_below_one_is_refused(output_dim):
    with pytest.raises(ValueError, match=rf"at least 1.*output_dim={output_dim}"):
        ptf.layers.PersiaEmbedding(output_dim)


@pytest.mark.parametrize("output_dim", [1.5, "4", True])
def test_output_dim_must_be_an_integer(output_dim):
    with pytest.raises(TypeError, match="must be an integer"):
        ptf.layers.PersiaEmbedding(output_dim)


@pytest.mark.parametrize("optimizer", ["adagradd", 3, "rmsprop"])
def test_unknown_optimizer_is_refused_with_the_known_ones(optimizer):
    with pytest.raises(ValueError, match="'adagrad', 'adam', 'sgd'"):
        ptf.layers.PersiaEmbedding(4, optimizer=optimizer)


def test_keras_optimizer_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="persia_tf.optimizers"):
        ptf.layers.PersiaEmbedding(4, optimizer=keras.optimizers.Adam())


@pytest.mark.parametrize("initializer", ["uniformm", "orthogonal", 7])
def test_unknown_initializer_is_refused_with_the_known_ones(initializer):
    with pytest.raises(ValueError, match="GlorotUniform.*embeddings_initializer="):
        ptf.layers.PersiaEmbedding(4, embeddings_initializer=initializer)


def test_unknown_combiner_is_refused():
    with pytest.raises(ValueError, match="combiner='max'"):
        ptf.layers.PersiaEmbedding(4, combiner="max")


@pytest.mark.parametrize(
    "argument",
    [
        {"capacity": 10},
        {"admission": "count"},
        {"eviction": "lru"},
        {"row_dtype": "float16"},
    ],
)
def test_what_is_not_supported_yet_says_so(argument):
    [name] = argument
    with pytest.raises(NotImplementedError, match=name):
        ptf.layers.PersiaEmbedding(4, **argument)


def test_float16_computation_is_refused():
    with pytest.raises(NotImplementedError, match="float16"):
        ptf.layers.PersiaEmbedding(4, dtype="mixed_float16")


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
    from persia_tf import initializers

    uniform = initializers.get("uniform")
    assert initializers.spec_and_seed(uniform) == (
        "uniform(minval=-0.05,maxval=0.05)",
        0,
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ptf.optimizers.Adam(learning_rate=-1), "at least 0"),
        (lambda: ptf.optimizers.SGD(float("nan")), "finite"),
    ],
)
def test_learning_rate_out_of_range_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_learning_rate_schedule_says_it_is_not_supported_yet():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    with pytest.raises(NotImplementedError, match="schedules"):
        ptf.optimizers.SGD(schedule)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (ptf.optimizers.SGD(momentum=1.5), "momentum"),
        (ptf.optimizers.Adam(beta_1=1.0), "beta_1"),
        (ptf.optimizers.Adagrad(initial_accumulator_value=-1), "initial_accumulator"),
    ],
)
def test_optimizer_number_out_of_range_is_refused_when_built(optimizer, message, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, optimizer=optimizer)
    with pytest.raises(ValueError, match=message):
        layer.build((None,))


@pytest.mark.parametrize("argument", ["weight_decay", "clipnorm", "use_ema"])
def test_what_an_optimizer_would_ignore_is_refused(argument):
    with pytest.raises(TypeError, match=argument):
        ptf.optimizers.Adam(**{argument: 0.1})
