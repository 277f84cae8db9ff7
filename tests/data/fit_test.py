"""Prefetched datasets in `fit`, `evaluate` and `predict`, whichever way they end."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras

BATCHES = 10


@pytest.fixture
def expect_rows(make_model, rows_of, fit_synchronously, assert_same_rows):
    """Compares the rows with those of synchronous training on a plain dataset."""

    def expect(dataset, **options):
        fit_synchronously(make_model("_expected"), dataset, **options)
        assert_same_rows(rows_of(), rows_of("_expected"))

    return expect


def test_several_epochs(dataset, make_model, expect_rows):
    """The original PERSIA found an epoch's end by a time-out of ten minutes alone."""
    model = make_model()
    model.fit(ptf.data.prefetch(dataset, model, 0), epochs=3, verbose=0)
    expect_rows(dataset, epochs=3)


def test_steps_per_epoch_of_a_repeated_dataset(dataset, make_model, expect_rows):
    model = make_model()
    prefetched = ptf.data.prefetch(dataset.repeat(), model, 0)
    model.fit(prefetched, epochs=3, steps_per_epoch=7, verbose=0)
    expect_rows(dataset.repeat(), epochs=3, steps_per_epoch=7)


def test_batches_that_no_step_takes_hold_nothing_up(
    dataset, make_model, count, wait_until_none_registered, nothing_registered
):
    model = make_model()
    passed = count()
    for _ in range(3):
        prefetched = ptf.data.prefetch(dataset.repeat(), model, 3)
        model.fit(prefetched, steps_per_epoch=4, verbose=0)
    ptf.flush()
    assert passed["updates"] == 12
    wait_until_none_registered()


def test_validation_takes_no_place_in_the_window(dataset, make_model, count):
    model = make_model()
    passed = count()
    model.fit(
        ptf.data.prefetch(dataset, model, 2),
        validation_data=ptf.data.prefetch(dataset, model, 2),
        epochs=2,
        verbose=0,
    )
    ptf.flush()
    assert sum(passed.staleness) == 2 * BATCHES
    assert passed["training_lookups"] == passed["updates"] == 2 * BATCHES
    assert passed["readonly_lookups"] == 2 * BATCHES


def test_evaluate_and_predict_are_as_with_plain_data(
    dataset, make_model, count, one_ahead
):
    model = make_model()
    model.fit(ptf.data.prefetch(dataset, model), verbose=0)
    passed = count()
    prefetched = ptf.data.prefetch(dataset, model)
    ahead = [one_ahead(passed)]
    loss = model.evaluate(prefetched, verbose=0, callbacks=ahead)
    assert loss == model.evaluate(dataset, verbose=0)
    np.testing.assert_array_equal(
        model.predict(prefetched, verbose=0), model.predict(dataset, verbose=0)
    )
    assert passed["readonly_lookups"] == 4 * BATCHES
    assert passed["prefetch_hits"] > 0
    assert passed.staleness == []


def test_an_evaluation_sees_what_training_has_just_pushed(dataset, make_model):
    model = make_model()
    train = ptf.data.prefetch(dataset, model, 8)
    valid = ptf.data.prefetch(dataset, model, 8)
    for _ in range(3):
        model.fit(train, verbose=0)
        unflushed = model.evaluate(valid, verbose=0)
        ptf.flush()
        assert unflushed == model.evaluate(dataset, verbose=0)


def test_early_stopping(
    dataset, make_model, count, wait_until_none_registered, nothing_registered
):
    model = make_model()
    passed = count()
    stop = keras.callbacks.EarlyStopping("loss", min_delta=1e9, patience=1)
    history = model.fit(
        ptf.data.prefetch(dataset, model, 3), epochs=9, callbacks=[stop], verbose=0
    )
    assert len(history.epoch) == 2
    ptf.flush()
    assert passed["updates"] == 2 * BATCHES
    wait_until_none_registered()


class _Stop(Exception):
    pass


class _StopAt(keras.callbacks.Callback):
    def __init__(self, step):
        super().__init__()
        self._step = step

    def on_train_batch_end(self, batch, logs=None):
        if batch == self._step:
            raise _Stop


def test_training_goes_on_after_an_exception(
    dataset, make_model, rows_of, count, fit_synchronously, assert_same_rows
):
    model = make_model()
    prefetched = ptf.data.prefetch(dataset, model, 0)
    with pytest.raises(_Stop):
        model.fit(prefetched, callbacks=[_StopAt(3)], verbose=0)
    ptf.flush()
    passed = count()
    model.fit(prefetched, verbose=0)
    ptf.flush()
    assert passed["training_lookups"] == passed["updates"] == BATCHES

    expected = make_model("_expected")
    fit_synchronously(expected, dataset.take(4))
    fit_synchronously(expected, dataset)
    assert_same_rows(rows_of(), rows_of("_expected"))


def test_a_frozen_layer_is_read_and_never_stepped(
    dataset, make_model, rows_of, count, one_ahead
):
    model = make_model()
    model.fit(dataset, verbose=0)
    model.layers[1].trainable = False
    model.compile("sgd", "mse")
    ids, before = rows_of()
    passed = count()
    prefetched = ptf.data.prefetch(dataset, model)
    model.fit(prefetched, verbose=0, callbacks=[one_ahead(passed)])
    np.testing.assert_array_equal(rows_of()[1], before)
    assert passed["updates"] == passed["training_lookups"] == 0
    assert passed["prefetch_hits"] > 0
