"""Several prefetched datasets at once, and datasets that are not read to their end."""

import threading

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

BATCHES = 10


@pytest.fixture
def expected_rows(dataset, make_model, rows_of, fit_synchronously):
    fit_synchronously(make_model("_expected"), dataset)
    return rows_of("_expected")


def test_a_custom_loop(dataset, make_model, rows_of, expected_rows, assert_same_rows):
    model = make_model()
    optimizer = keras.optimizers.SGD(0.01)
    loss_fn = keras.losses.MeanSquaredError()

    @tf.function
    def step(ids, labels):
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(ids, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    for ids, labels in iter(ptf.data.prefetch(dataset, model, staleness=0)):
        step(ids, labels)
    assert_same_rows(rows_of(), expected_rows)


def test_two_models_in_turn(
    dataset, make_model, rows_of, expected_rows, assert_same_rows
):
    names = ["_a", "_b"]
    models = [make_model(name) for name in names]
    iterators = [iter(ptf.data.prefetch(dataset, model, 0)) for model in models]
    for _ in range(BATCHES):
        for model, iterator in zip(models, iterators):
            model.train_on_batch(*next(iterator))
    for name in names:
        assert_same_rows(rows_of(name), expected_rows)


def test_two_models_in_two_threads(
    dataset, make_model, rows_of, expected_rows, assert_same_rows
):
    names = ["_a", "_b"]
    models = [make_model(name) for name in names]
    datasets = [ptf.data.prefetch(dataset, model, 0) for model in models]
    failures = []

    def train(model, prefetched):
        try:
            model.fit(prefetched, verbose=0)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=train, args=a) for a in zip(models, datasets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    assert failures == []
    for name in names:
        assert_same_rows(rows_of(name), expected_rows)


def test_two_streams_of_one_model(dataset, make_model, count):
    """A step may get its rows from either stream: both ask for the same ids."""
    model = make_model()
    passed = count()
    first, second = (iter(ptf.data.prefetch(dataset, model, 2)) for _ in range(2))
    for _ in range(BATCHES):
        model.train_on_batch(*next(first))
        model.train_on_batch(*next(second))
    ptf.flush()
    assert passed["updates"] == passed["training_lookups"] == 2 * BATCHES
    assert len(passed.staleness) <= 2 + 1


def test_an_abandoned_iterator_leaves_nothing(
    dataset,
    make_model,
    count,
    wait_until,
    wait_until_none_registered,
    nothing_registered,
):
    model = make_model()
    passed = count()

    # In a function of its own: TensorFlow may keep what a frame that it traced in has
    # held.
    def train_a_while():
        iterator = iter(ptf.data.prefetch(dataset.repeat(), model, staleness=4))
        for _ in range(3):
            model.train_on_batch(*next(iterator))
        # Batches wait, some of them for rows that are on their way.
        wait_until(lambda: passed["batches_registered"] > 0)

    train_a_while()
    wait_until_none_registered()
    model.fit(dataset, verbose=0)
    ptf.flush()
    assert passed["updates"] == 3 + BATCHES


def test_an_iterator_that_no_step_reads_leaves_nothing(
    dataset, make_model, count, wait_until_none_registered, nothing_registered
):
    model = make_model()
    passed = count()
    for _ in ptf.data.prefetch(dataset, model):
        pass
    wait_until_none_registered()
    assert passed["lookup_requests"] == 0


def test_batches_in_another_order_still_train_right(
    dataset, make_model, count, rows_of, fit_synchronously
):
    """Rows of batches that are passed over are looked up when their step comes."""
    model = make_model()
    batches = list(ptf.data.prefetch(dataset, model, staleness=0))
    passed = count()
    reordered = batches[::-1]
    for ids, labels in reordered:
        model.train_on_batch(ids, labels)
    ptf.flush()
    assert passed["updates"] == BATCHES

    expected = make_model("_expected")
    for ids, labels in reordered:
        expected.train_on_batch(ids, labels)
        ptf.flush()
    np.testing.assert_allclose(rows_of()[1], rows_of("_expected")[1], atol=1e-2)
