"""Events report a shard that does not answer, long before the error, and its return."""

import threading
import time

import pytest
import tensorflow as tf

import persia_tf as ptf

IDS = tf.constant([1, 2], tf.int64)


def wait_for(what, caplog):
    give_up = time.monotonic() + 60
    while True:
        found = [text for text in caplog.messages if what in text]
        if found:
            return found
        assert time.monotonic() < give_up, caplog.text
        time.sleep(0.01)


def test_it_is_told_of_once_with_what_waits_and_once_when_it_is_back(
    table, start_shards, caplog
):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=60)
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    layer(IDS, training=True)
    port = shard.port
    shard.stop()
    failures = []

    def look_up():
        try:
            layer(IDS, training=True)
        except tf.errors.NotFoundError as error:
            failures.append(str(error))

    thread = threading.Thread(target=look_up)
    with caplog.at_level("WARNING", logger="absl"):
        thread.start()
        [told] = wait_for("has not answered for", caplog)
        shard.start(port)
        [back] = wait_for("answers again", caplog)
        thread.join()
    assert shard.address in told and shard.address in back
    assert "wait for it: a lookup. The oldest fails in" in told
    # It was restarted without its rows, which is an error that names the table.
    [failure] = failures
    assert f'table "{table}" is not there any more' in failure
    assert "ptf.checkpoint.restore" in failure and shard.address in failure


def test_an_error_that_comes_sooner_is_told_of_by_itself(table, start_shards, caplog):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=0.5)
    shard.stop()
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    with caplog.at_level("WARNING", logger="absl"):
        with pytest.raises(ptf.errors.UnavailableError, match=shard.address):
            layer.build((None,))
    assert caplog.text == ""
