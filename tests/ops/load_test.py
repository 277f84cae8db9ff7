"""The op library is loaded once, whoever needs it first."""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from persia_tf.ops import load


@pytest.fixture
def unloaded(monkeypatch):
    """As in a process that has not loaded the library yet."""
    monkeypatch.setattr(load, "_load", functools.cache(load._load.__wrapped__))
    monkeypatch.setattr(load, "ops", functools.cache(load.ops.__wrapped__))


def test_threads_that_need_it_at_once_load_it_once(unloaded, monkeypatch):
    calls = []
    another_loads = threading.Event()

    def load_op_library(path):
        calls.append(path)
        if len(calls) > 1:
            another_loads.set()
        another_loads.wait(0.5)  # Would let another thread begin to load it.
        return "ops"

    monkeypatch.setattr(load.tf, "load_op_library", load_op_library)
    monkeypatch.setattr(load.tf, "no_gradient", lambda name: None)
    started = threading.Barrier(4)

    def use():
        started.wait()
        return load.ops()

    with ThreadPoolExecutor(4) as pool:
        modules = [each.result() for each in [pool.submit(use) for _ in range(4)]]
    assert modules == ["ops"] * 4
    assert len(calls) == 1
