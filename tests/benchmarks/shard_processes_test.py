"""Shards of a benchmark, and the distance to them."""

import os

import shard_processes

import persia_tf.stats


def test_shards_answer_through_their_proxies_and_end(monkeypatch):
    package = os.path.dirname(os.path.dirname(persia_tf.__file__))
    monkeypatch.setenv("PYTHONPATH", package)
    with shard_processes.running_shards(2) as shards:
        with shard_processes.running_proxies(shards, delay_ms=1) as addresses:
            assert not set(addresses) & {shard.address for shard in shards}
            assert len(persia_tf.stats.fetch(addresses)) == 2
        with shard_processes.running_proxies(shards, delay_ms=0) as addresses:
            assert addresses == [shard.address for shard in shards]
    assert not any(os.path.exists(f"/proc/{shard.pid}") for shard in shards)
