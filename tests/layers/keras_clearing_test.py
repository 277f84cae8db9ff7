"""How a program learns that Keras's session was cleared."""

import gc
import threading

import pytest

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers.keras_clearing import ClearSessionWatch


@pytest.fixture
def told():
    return []


@pytest.fixture
def watch(told):
    return ClearSessionWatch(lambda: told.append(1))


def test_it_tells_once_of_each_clearing(watch, told):
    for times in range(1, 4):
        assert watch.begin()
        assert watch.begin()
        keras.backend.clear_session()
        assert len(told) == times


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras clears what it finds, then")
def test_it_goes_on_after_a_clearing(watch, told):
    watch.begin()
    for times in range(1, 4):
        keras.backend.clear_session()
        assert len(told) == times


def test_it_tells_nothing_while_the_session_lives(watch, told):
    watch.begin()
    keras.Sequential([keras.layers.Dense(1)]).build((None, 2))
    gc.collect()
    assert not told


def test_it_tells_nothing_when_a_thread_ends(watch, told):
    begun = []
    thread = threading.Thread(target=lambda: begun.append(watch.begin()))
    thread.start()
    thread.join()
    gc.collect()
    assert begun == [False]
    assert not told


def test_a_keras_that_keeps_no_names_is_not_watched(watch, told, monkeypatch):
    monkeypatch.setattr(keras.backend, "get_uid", lambda prefix: 1)
    assert not watch.begin()
    assert not told


def test_a_keras_that_counts_no_names_is_not_watched(watch, monkeypatch):
    monkeypatch.delattr(keras.backend, "get_uid")
    assert not watch.begin()
