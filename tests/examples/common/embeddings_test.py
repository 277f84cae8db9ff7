"""Both kinds of rows of the examples: PERSIA's, and Keras's as the check."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from common.embeddings import KerasRows, PersiaRows, Settings
from common.table import Table

import persia_tf as ptf

keras = tf.keras

ADAGRAD = {"learning_rate": 0.1, "initial_accumulator_value": 1e-3}
# So far apart that they are no indices without a vocabulary.
IDS = np.array([-5, 2**62, 11, 400], np.int64)


def settings(name, scale):
    return Settings(name, ADAGRAD, scale, seed=1)


@pytest.fixture
def tables():
    """Training and test rows; ids repeat, and some occur in the test rows only."""
    random = np.random.default_rng(0)

    def draw(rows, ids):
        bag = random.choice(np.array([0, 3, 8, 2**40]), (rows, 3))
        bag[:, 0] = 3  # No bag is all padding.
        features = {"one": random.choice(ids, rows), "bag": bag}
        return Table(features, random.integers(0, 2, rows).astype(np.float32))

    return draw(64, IDS[:3]), draw(32, IDS)


def build(rows):
    one = keras.Input(shape=(), dtype="int64", name="one")
    bag = keras.Input(shape=(3,), dtype="int64", name="bag")
    joined = keras.layers.Concatenate()(
        [rows.layer("one", 4)(one), rows.layer("bag", 4, pooled=True)(bag)]
    )
    same = keras.initializers.Constant(0.3)
    chance = keras.layers.Dense(1, "sigmoid", kernel_initializer=same)(joined)
    return keras.Model({"one": one, "bag": bag}, chance)


def train_and_predict(rows, tables):
    train, test = rows.encode(*tables)
    model = build(rows)
    model.compile(keras.optimizers.Adagrad(**ADAGRAD), "binary_crossentropy")
    for features, labels in train.batches(16).repeat(3):
        model.train_on_batch(features, labels)
        ptf.flush()  # Each step's rows have the updates of the step before.
    return model.predict(test.batches(16), verbose=0)


def test_both_kinds_of_rows_train_alike(tables):
    # Rows begin as zeros, because the two kinds would draw different random rows.
    kinds = (PersiaRows, KerasRows)
    persia, check = (
        train_and_predict(kind(settings("embeddings_test", 0.0)), tables)
        for kind in kinds
    )
    assert np.ptp(check) > 0.05, "nothing was learned"
    np.testing.assert_allclose(persia, check, atol=1e-5)


def test_the_check_numbers_ids_from_zero_over_both_tables(tables):
    train, test = KerasRows(settings("", 0.0)).encode(*tables)
    order = np.sort(IDS)
    for encoded, raw in zip((train, test), tables):
        assert np.array_equal(order[encoded.features["one"]], raw.features["one"])


def test_the_check_keeps_padding_at_zero(tables):
    for encoded, raw in zip(KerasRows(settings("", 0.0)).encode(*tables), tables):
        padding = raw.features["bag"] == 0
        assert padding.any()
        assert np.array_equal(encoded.features["bag"] == 0, padding)


def test_the_check_leaves_numbers_alone():
    numbers = Table({"numbers": np.array([[0.5], [1.5]])}, np.zeros(2))
    train, _ = KerasRows(settings("", 0.0)).encode(numbers, numbers)
    assert train.features["numbers"] is numbers.features["numbers"]


def test_persia_takes_ids_as_they_are(tables):
    assert PersiaRows(settings("", 0.0)).encode(*tables) == tables


def test_the_check_numbers_the_ids_of_features_that_share_a_table_alike(tables):
    shared = dataclasses.replace(settings("", 0.0), tables={"bag": "one"})
    encoded, _ = KerasRows(shared).encode(*tables)
    numbers = {}
    for name in ("one", "bag"):
        for raw, number in zip(
            tables[0].features[name].ravel().tolist(),
            encoded.features[name].ravel().tolist(),
        ):
            assert numbers.setdefault(raw, number) == number
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("kind", [PersiaRows, KerasRows])
def test_masked_ids_keep_their_padding_from_the_layers_behind(kind, tables):
    rows = kind(settings("masked_test", 0.1))
    train, _ = rows.encode(*tables)
    ids = train.features["bag"][:4]
    layer = rows.layer("bag", 4, masked=True)
    np.testing.assert_array_equal(layer.compute_mask(tf.constant(ids)), ids != 0)
