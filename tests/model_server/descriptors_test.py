"""How many connections the server allows for the process's limit of descriptors."""

import resource

import pytest

from persia_tf.model_server import descriptors


@pytest.fixture
def limits(monkeypatch):
    """The process's soft and hard limits; 40 descriptors are in use."""
    held = [1024, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(held))
    monkeypatch.setattr(descriptors, "used", lambda: 40)
    return held


def test_as_many_connections_as_wanted(limits):
    assert descriptors.connections(364, listeners=2) == 364


def test_fewer_connections_than_wanted_are_told(limits, caplog):
    assert descriptors.connections(365, listeners=2) == 364
    assert "accepts 364 connections" in caplog.text
    assert "lower --max-connections" in caplog.text


def test_some_connections_there_are_at_least(limits):
    limits[:] = [100, 100]
    assert descriptors.connections(1024, listeners=2) == 16
