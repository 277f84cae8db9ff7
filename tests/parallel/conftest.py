"""A strategy of one worker, which can plan for more."""

import pytest

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.fixture(scope="module")
def strategy():
    return ptf.distribute.HierarchicalStrategy()


@pytest.fixture
def make_model(strategy):
    """Makes a model whose layers `wide_0` and `wide_1` have 256 units."""

    def make(units=256, optimizer="sgd", **options):
        with strategy.scope():
            inputs = keras.Input((units,))
            x = keras.layers.Dense(units, "relu", name="wide_0", **options)(inputs)
            x = keras.layers.Dense(units, "relu", name="wide_1")(x)
            model = keras.Model(inputs, keras.layers.Dense(1, name="head")(x))
            model.compile(optimizer, "mse")
        return model

    return make
