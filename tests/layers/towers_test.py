"""The layer of several towers, by itself."""

from __future__ import annotations

import numpy as np
import pytest

from persia_tf._keras import keras
from persia_tf.layers.towers import Towers

layers = keras.layers
VECTORS = np.arange(24, dtype="float32").reshape(3, 8)


def test_one_tensor_is_given_to_all_towers():
    towers = Towers([layers.Dense(2), layers.Dense(3)])
    outputs = towers(VECTORS)
    assert [tuple(each.shape) for each in outputs] == [(3, 2), (3, 3)]
    np.testing.assert_array_equal(outputs[1], towers.towers[1](VECTORS))


def test_a_list_has_the_input_of_each_tower():
    towers = Towers([layers.Flatten(), layers.Rescaling(2.0)])
    first, second = towers([VECTORS[:, :4], VECTORS])
    np.testing.assert_array_equal(first, VECTORS[:, :4])
    np.testing.assert_array_equal(second, 2 * VECTORS)


@pytest.mark.parametrize("suffix", ["keras", "weights.h5"])
def test_it_is_saved_with_its_towers(tmp_path, suffix):
    def make_model():
        inputs = [keras.Input((8,)), keras.Input((4,))]
        tower = keras.Sequential([layers.Dense(4, "relu"), layers.Dense(1)])
        return keras.Model(inputs, Towers([tower, layers.Dense(2)])(inputs))

    model, path = make_model(), str(tmp_path / f"model.{suffix}")
    if suffix == "keras":
        model.save(path)
        loaded = keras.models.load_model(path)
    else:
        model.save_weights(path)
        loaded = make_model()
        loaded.load_weights(path)
    for one, other in zip(model.get_weights(), loaded.get_weights()):
        np.testing.assert_array_equal(one, other)
    assert len(loaded.get_weights()) == 6
    [layer] = [each for each in loaded.layers if isinstance(each, Towers)]
    assert layer.specs is not None


def test_all_towers_train():
    inputs = keras.Input((8,))
    outputs = Towers([layers.Dense(1), layers.Dropout(0.5)])(inputs)
    model = keras.Model(inputs, layers.Concatenate()(outputs))
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.fit(VECTORS, np.zeros((3, 9)), verbose=0)
    assert np.any(model.get_weights()[0] != before[0])


def test_the_number_of_inputs_must_be_that_of_towers():
    with pytest.raises(ValueError, match="2 towers.*a list of 3 tensors"):
        Towers([layers.Dense(2), layers.Dense(3)])([VECTORS] * 3)


def test_there_must_be_layers():
    with pytest.raises(ValueError, match="at least one layer"):
        Towers([])
    with pytest.raises(TypeError, match="must be Keras layers or models.*len"):
        Towers([len])
