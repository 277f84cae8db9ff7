"""Every kind of model and of layer behind `ptf.data.prefetch`.

Each model trains on prefetched batches as on plain ones: all rows are equal bit by bit.
Once its stream is known to train, each of its lookups is sent ahead.
"""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

BATCHES = 10


def head():
    # The layer has equal weights each time it is built.
    kernel = keras.initializers.GlorotUniform(seed=3)
    return [keras.layers.Flatten(), keras.layers.Dense(1, kernel_initializer=kernel)]


def functional(layer):
    inputs = keras.Input(shape=(3,), dtype="int64")
    return keras.Model(inputs, keras.Sequential(head())(layer(inputs)))


def sequential(layer):
    return keras.Sequential([keras.Input(shape=(3,), dtype="int64"), layer, *head()])


def sequential_without_input(layer):
    return keras.Sequential([layer, *head()])


def nested(layer):
    inputs = keras.Input(shape=(3,), dtype="int64")
    outer = keras.layers.Dense(1)(functional(layer)(inputs * 2))
    return keras.Model(inputs, outer)


class Subclassed(keras.Model):
    def __init__(self, layer):
        super().__init__()
        self.embedding = layer
        self.head = keras.Sequential(head())

    def call(self, ids, training=None):
        return self.head(self.embedding(ids, training=training))


def subclassed_and_built(layer):
    model = Subclassed(layer)
    model(tf.ones((2, 3), tf.int64))
    return model


class CallsTwice(Subclassed):
    def call(self, ids, training=None):
        first = self.embedding(ids[:, :2], training=training)
        second = self.embedding(ids[:, 1:], training=training)
        return self.head(first * second)


class IdsOfTheModelsMaking(Subclassed):
    def call(self, ids, training=None):
        crossed = ids[:, :1] * 100 + ids[:, 1:]
        return self.head(self.embedding(crossed, training=training))


class WithAnUnusedOutput(Subclassed):
    def call(self, ids, training=None):
        self.embedding(ids + 50, training=training)
        return self.head(self.embedding(ids, training=training))


LOOKUPS = {CallsTwice: 2, WithAnUnusedOutput: 2}

KINDS = [
    functional,
    sequential,
    pytest.param(
        sequential_without_input,
        marks=pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 makes its ids floats"),
    ),
    nested,
    Subclassed,
    subclassed_and_built,
    CallsTwice,
    IdsOfTheModelsMaking,
    WithAnUnusedOutput,
]

LAYERS = {
    "combiner": dict(combiner="mean"),
    "padding": dict(combiner="sqrtn", mask_zero=True),
    "mask": dict(mask_zero=True),
    "hash stack": dict(compression=ptf.compression.HashStack(buckets=7)),
    "quotient and remainder": dict(
        compression=ptf.compression.QuotientRemainder(buckets=5), combiner="sum"
    ),
    "adam": dict(optimizer=ptf.optimizers.Adam(0.1)),
}


def compiled(kind, layer):
    keras.utils.set_random_seed(3)
    model = kind(layer)
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_the_same(
    kind, dataset, make_layer, rows_of, fit_synchronously, assert_same_rows
):
    plain = compiled(kind, make_layer("_plain"))
    model = compiled(kind, make_layer())
    fit_synchronously(plain, dataset)
    model.fit(ptf.data.prefetch(dataset, model, staleness=0), verbose=0)
    assert_same_rows(rows_of(), rows_of("_plain"))
    for weight, expected in zip(model.get_weights(), plain.get_weights()):
        np.testing.assert_array_equal(weight, expected)


@pytest.mark.parametrize("options", LAYERS.values(), ids=LAYERS)
def test_layers_with_options_train_the_same(
    options, dataset, make_model, rows_of, fit_synchronously, assert_same_rows
):
    with_padding = dataset.map(lambda ids, label: (tf.maximum(ids - 8, 0), label))
    fit_synchronously(make_model("_plain", **options), with_padding)
    model = make_model(**options)
    model.fit(ptf.data.prefetch(with_padding, model, staleness=0), verbose=0)
    assert_same_rows(rows_of(), rows_of("_plain"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_lookup_is_sent_ahead(kind, dataset, make_layer, count, wait_until):
    model = compiled(kind, make_layer())
    passed = count()

    class WaitForRequests(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            wait_until(lambda: passed["lookup_requests"] == BATCHES)

    prefetched = ptf.data.prefetch(dataset, model, staleness=BATCHES)
    model.fit(prefetched, verbose=0, callbacks=[WaitForRequests()])
    # The first lookup was not sent ahead, and took the others of its batch along.
    assert passed["prefetch_hits"] == BATCHES * LOOKUPS.get(kind, 1) - 1
    assert passed["prefetch_stale"] == 0
    assert passed["lookup_requests"] == BATCHES


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras passes integers on")
def test_ids_that_keras_makes_floats_are_refused(dataset, make_layer):
    model = compiled(sequential_without_input, make_layer())
    with pytest.raises(ValueError, match=r'keras\.Input\(\.\.\., dtype="int64"\)'):
        ptf.data.prefetch(dataset, model)
