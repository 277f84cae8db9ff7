"""Shards that tests kill and restart."""

import socket

import pytest

from persia_tf import stats


def test_a_killed_shard_comes_back_where_it_was(shard_process):
    shard = shard_process()
    address = shard.address
    assert len(stats.fetch(address)) == 1
    shard.kill()
    assert not shard.is_running
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", shard.port), timeout=30)
    shard.start()
    assert shard.address == address
    assert len(stats.fetch(address)) == 1
    assert shard.resident_bytes > 1 << 20
    assert shard.stop() == 0


def test_a_shard_that_does_not_start_says_why(shard_process):
    with pytest.raises(AssertionError, match="--no-such-option"):
        shard_process(options=["--no-such-option"])


def test_proxies_stay_in_front_of_a_shard_that_comes_back(shard_process, start_proxies):
    shard = shard_process()
    [proxy] = start_proxies([shard.address])
    assert len(stats.fetch(proxy.address)) == 1
    shard.kill()
    shard.start()
    assert len(stats.fetch(proxy.address)) == 1
