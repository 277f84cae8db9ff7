"""Methods of Keras that read weights, and cannot include rows."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

IDS = np.arange(12).reshape(4, 3)


@pytest.fixture
def model(table):
    inputs = keras.Input((3,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(2, table=table, combiner="sum")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile("sgd", "mse")
    model.fit(IDS, np.ones((4, 1)), verbose=0)
    return model


def nested(model):
    inputs = keras.Input((3,), dtype="int64")
    return keras.Model(inputs, model(inputs))


@pytest.mark.parametrize("made_of", [lambda model: model, nested])
@pytest.mark.parametrize("trainable", [True, False])
def test_a_whole_model_is_not_saved_as_h5(model, made_of, trainable, tmp_path):
    outer = made_of(model)
    outer.trainable = trainable
    with pytest.raises(NotImplementedError, match='Save the model as "model.keras"'):
        outer.save(str(tmp_path / "model.h5"))


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 has the other format alone")
def test_weights_are_not_saved_in_the_legacy_format(model, tmp_path):
    with pytest.raises(NotImplementedError, match='weights as "model.weights.h5"'):
        model.save_weights(str(tmp_path / "weights.h5"))


def test_dense_weights_alone_may_be_saved_as_h5(model, tmp_path, caplog):
    path = str(tmp_path / "model.h5")
    with ptf.rows_stay():
        model.save(path)
    with caplog.at_level("WARNING", logger="absl"):
        model.load_weights(path)
    assert "an .h5 file of this format holds the dense weights only" in caplog.text


def test_arrays_of_weights_are_told_of_once(model, caplog):
    with caplog.at_level("WARNING", logger="absl"):
        for _ in range(2):
            model.set_weights(model.get_weights())
    assert caplog.text.count("handles only the dense weights") == 1


def test_a_model_of_many_layers_is_told_of_in_one_line(table, caplog):
    inputs = keras.Input((3,), dtype="int64")
    layers = [
        ptf.layers.PersiaEmbedding(2, table=f"{table}/{n}", combiner="sum")
        for n in range(3)
    ]
    vectors = keras.layers.Add()([layer(inputs) for layer in layers])
    model = keras.Model(inputs, vectors, name="ranking")
    with caplog.at_level("WARNING", logger="absl"):
        model.get_weights()
    [told] = caplog.messages
    assert "'ranking': get_weights() handles" in told


def test_nothing_is_told_of_where_rows_are_to_stay(model, caplog):
    with caplog.at_level("WARNING", logger="absl"), ptf.rows_stay():
        model.set_weights(model.get_weights())
    assert caplog.text == ""


def test_training_and_saving_tell_of_nothing(model, tmp_path, caplog):
    with caplog.at_level("WARNING", logger="absl"):
        model.fit(IDS, np.ones((4, 1)), verbose=0)
        model.save(str(tmp_path / "model.keras"))
        model.summary(print_fn=lambda *line, **options: None)
        assert model.trainable_weights and model.weights
    assert caplog.text == ""
