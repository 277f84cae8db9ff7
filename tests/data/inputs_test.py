"""Inputs of any structure behind `ptf.data.prefetch`, dense and ragged."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

RANDOM = np.random.default_rng(3)
USERS = RANDOM.integers(1, 20, 80)
ITEMS = RANDOM.integers(1, 20, 80)
BAGS = tf.RaggedTensor.from_row_lengths(
    RANDOM.integers(0, 20, 200), np.tile([0, 1, 4, 5], 20)
)
LABELS = RANDOM.normal(size=(80, 1)).astype("float32")


def batches(inputs):
    return tf.data.Dataset.from_tensor_slices((inputs, LABELS)).batch(8)


def named_inputs():
    return {
        "user": keras.Input((), dtype="int64", name="user"),
        "item": keras.Input((), dtype="int64", name="item"),
    }


def finish(inputs, vectors):
    hidden = keras.layers.Concatenate()(vectors) if len(vectors) > 1 else vectors[0]
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile("sgd", "mse")
    return model


def of_dict(make_layer, suffix):
    inputs = named_inputs()
    layers = {name: make_layer(f"{suffix}_{name}") for name in inputs}
    # In another order than in the dict.
    order = ["user", "item"]
    return finish(inputs, [layers[name](inputs[name]) for name in order])


def of_tuple(make_layer, suffix):
    inputs = tuple(named_inputs().values())
    names = ("user", "item")
    return finish(
        inputs, [make_layer(f"{suffix}_{name}")(i) for name, i in zip(names, inputs)]
    )


def of_two_layers_on_one_table(make_layer, suffix):
    inputs = named_inputs()
    return finish(inputs, [make_layer(suffix + "_user")(i) for i in inputs.values()])


def of_bags(make_layer, suffix):
    inputs = keras.Input((None,), dtype="int64", ragged=True)
    layer = make_layer(suffix + "_user", combiner="mean", mask_zero=True)
    return finish(inputs, [layer(inputs)])


KINDS = {
    of_dict: {"user": USERS, "item": ITEMS},
    of_tuple: (USERS, ITEMS),
    of_two_layers_on_one_table: {"user": USERS, "item": ITEMS},
    of_bags: BAGS,
}


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_the_same(
    kind, make_layer, rows_of, fit_synchronously, assert_same_rows, count
):
    def made(suffix):
        keras.utils.set_random_seed(7)
        return kind(make_layer, suffix)

    dataset = batches(KINDS[kind])
    fit_synchronously(made("_plain"), dataset)
    model = made("")
    passed = count()
    model.fit(ptf.data.prefetch(dataset, model, 0), verbose=0)
    tables = ["_user", "_item"] if kind in (of_dict, of_tuple) else ["_user"]
    for table in tables:
        assert_same_rows(rows_of(table), rows_of("_plain" + table))
    assert passed["updates"] == passed["lookup_requests"] == 10


@pytest.mark.parametrize("kind", KINDS)
def test_elements_stay_as_they_are(kind, make_layer):
    dataset = batches(KINDS[kind])
    prefetched = ptf.data.prefetch(dataset, kind(make_layer, ""))
    assert prefetched.element_spec == dataset.element_spec
    for one, other in zip(prefetched, dataset):
        flat = [tf.nest.flatten(e, expand_composites=True) for e in (one, other)]
        for first, second in zip(*flat):
            np.testing.assert_array_equal(first, second)
