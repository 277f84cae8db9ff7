"""Fixtures that train with and without `ptf.data.prefetch`, and count what it does."""

from __future__ import annotations

import gc
import itertools
import time

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

DEADLINE_SECONDS = 20


@pytest.fixture
def wait_until():
    """Waits for a condition, with a deadline."""

    def wait(condition):
        give_up = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < give_up, "gave up waiting"
            time.sleep(0.002)

    return wait


@pytest.fixture
def wait_until_none_registered(wait_until):
    """Waits until no iterator that is no longer read has registered batches."""

    def wait():
        gc.collect()  # Keras and TensorFlow may leave an iterator in a cycle.
        wait_until(lambda: ptf.metrics()["batches_registered"] == 0)

    return wait


@pytest.fixture
def nothing_registered(wait_until_none_registered):
    """Waits until the iterators of earlier tests are gone."""
    wait_until_none_registered()


class Passed:
    """What `ptf.metrics()` has counted since this object was made."""

    def __init__(self):
        self._before = ptf.metrics()

    def __getitem__(self, name):
        return ptf.metrics()[name] - self._before[name]

    @property
    def staleness(self):
        """Training batches by staleness."""
        bins = itertools.zip_longest(
            ptf.metrics()["staleness_histogram"],
            self._before["staleness_histogram"],
            fillvalue=0,
        )
        counts = [now - before for now, before in bins]
        while counts and not counts[-1]:
            counts.pop()
        return counts


@pytest.fixture
def count():
    """Starts counting; gives the counts from then on."""
    return Passed


class _WaitForOneAhead(keras.callbacks.Callback):
    def __init__(self, wait):
        super().__init__()
        self._wait = wait

    def on_train_batch_end(self, batch, logs=None):
        if batch == 0:
            self._wait()

    on_test_batch_end = on_train_batch_end


@pytest.fixture
def one_ahead(wait_until):
    """A callback that ends the first step only once a second batch was sent.

    So that one batch surely is ahead of its step, however slow the machine is.
    """

    def make(passed):
        return _WaitForOneAhead(
            lambda: wait_until(lambda: passed["lookup_requests"] >= 2)
        )

    return make


@pytest.fixture
def make_layer(table, cluster):
    """Makes layers whose rows begin with the same values, whatever the table's name."""

    def make(suffix="", **options):
        options.setdefault("optimizer", ptf.optimizers.SGD(0.1))
        return ptf.layers.PersiaEmbedding(
            4,
            table=table + suffix,
            cluster=cluster,
            embeddings_initializer="ones",
            **options,
        )

    return make


@pytest.fixture
def rows_of(table, cluster):
    """The rows of the test's table, by id."""

    def rows(suffix=""):
        pages = list(ptf.Table(table + suffix, cluster=cluster).export())
        ids = np.concatenate([page.ids for page in pages])
        weights = np.concatenate([page.rows for page in pages])
        order = np.argsort(ids)
        return ids[order], weights[order]

    return rows


class _FlushAfterEachStep(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        ptf.flush()


@pytest.fixture
def fit_synchronously():
    """Trains without prefetching; updates are applied before the next step."""

    def fit(model, dataset, **options):
        model.fit(dataset, verbose=0, callbacks=[_FlushAfterEachStep()], **options)

    return fit


@pytest.fixture
def assert_same_rows():
    """Compares two results of `rows_of`, bit by bit."""

    def compare(first, second):
        for one, other in zip(first, second):
            np.testing.assert_array_equal(one, other)

    return compare


@pytest.fixture
def dataset():
    """10 batches of 8 examples: 3 ids from a small range, and a label."""
    random = np.random.default_rng(0)
    ids = random.integers(1, 30, (80, 3))
    labels = random.normal(size=(80, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((ids, labels)).batch(8)


@pytest.fixture
def make_model(make_layer):
    """Makes equal models: ids, rows and a Dense layer."""

    def make(suffix="", **options):
        keras.utils.set_random_seed(7)
        inputs = keras.Input(shape=(3,), dtype="int64")
        vectors = make_layer(suffix, **options)(inputs)
        if "combiner" not in options:
            vectors = keras.layers.Flatten()(vectors)
        model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
        model.compile("sgd", "mse")
        return model

    return make
