"""What calls of `ptf.data.prefetch` leave in memory once their datasets are gone."""

import gc
import itertools

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

_names = itertools.count()


def layer(**options):
    return ptf.layers.PersiaEmbedding(4, name=f"memory_{next(_names)}", **options)


def plain():
    inputs = keras.Input(shape=(3,), dtype="int64")
    vectors = keras.layers.Flatten()(layer()(inputs))
    return keras.Model(inputs, keras.layers.Dense(1)(vectors))


def pooled_in_half_precision():
    inputs = keras.Input(shape=(3,), dtype="int64")
    pools = [
        layer(combiner=combiner, dtype="mixed_bfloat16")(inputs)
        for combiner in ("sum", "mean")
    ]
    joined = ptf.layers.JoinedCopy()(pools)
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.add(joined)))


def sequential():
    inputs = keras.Input(shape=(3,), dtype="int64")
    flat = keras.layers.Flatten()
    return keras.Sequential([inputs, layer(), flat, keras.layers.Dense(1)])


def graphs():
    """The number of function graphs in memory."""
    gc.collect()
    return sum(issubclass(type(each), tf.Graph) for each in gc.get_objects())


@pytest.mark.parametrize("make", [plain, pooled_in_half_precision, sequential])
def test_no_graph_stays_of_calls_whose_datasets_are_gone(make):
    ids = np.arange(24).reshape(8, 3)
    dataset = tf.data.Dataset.from_tensor_slices((ids, np.ones((8, 1)))).batch(4)
    model = make()
    model.compile("sgd", "mse")

    def use():
        for _ in ptf.data.prefetch(dataset, model):
            pass

    for _ in range(2):  # Includes what is made only once.
        use()
    before = graphs()
    for _ in range(3):
        use()
    assert graphs() == before


def test_an_iterator_keeps_what_it_needs():
    ids = np.arange(24).reshape(8, 3)
    dataset = tf.data.Dataset.from_tensor_slices(ids).batch(2)
    model = plain()
    batches = iter(ptf.data.prefetch(dataset, model))
    gc.collect()
    np.testing.assert_array_equal(np.concatenate(list(batches)), ids)
