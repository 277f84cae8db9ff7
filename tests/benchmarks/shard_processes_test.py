"""The shards of a benchmark, and the delaying proxies in front of them."""

import os
import time

import native_programs
import pytest
import shard_processes

import persia_tf.stats


@pytest.fixture
def shards(monkeypatch):
    """Two shards, which end with the test."""
    package = os.path.dirname(os.path.dirname(persia_tf.__file__))
    monkeypatch.setenv("PYTHONPATH", package)
    with shard_processes.running_shards(2) as running:
        yield running
    assert not any(os.path.exists(f"/proc/{shard.pid}") for shard in running)


def test_shards_without_a_delay_have_no_proxies(shards):
    with shard_processes.running_proxies(shards, delay_ms=None) as addresses:
        assert addresses == [shard.address for shard in shards]


@pytest.mark.slow
@pytest.mark.skipif(
    not native_programs.can_build(), reason="native programs cannot be built here"
)
def test_shards_answer_through_proxies_as_far_away_as_they_should_be(shards):
    with shard_processes.running_proxies(shards, delay_ms=20) as addresses:
        assert not set(addresses) & {shard.address for shard in shards}
        begin = time.monotonic()
        assert len(persia_tf.stats.fetch(addresses)) == 2
        assert time.monotonic() - begin >= 2 * 0.020
