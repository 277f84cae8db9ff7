"""A shard that is started again at another address, while programs use it."""

from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.client import session
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.driver import reshard

IDS = np.arange(100)


@pytest.fixture
def shard(start_shards, tmp_path):
    """A shard that recovers its rows when it is started again."""
    [shard] = start_shards(1, recovery_folder=str(tmp_path))
    return shard


@pytest.fixture
def filled(shard, table):
    """A table on the shard, with rows."""
    cluster = ptf.Cluster([shard.address], timeout=20.0)
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
    layer(IDS, training=True)
    return ptf.Table(table, cluster)


def start_elsewhere(shard):
    shard.stop()
    shard.start(port=0)


def test_an_open_session_follows_a_shard(shard, filled):
    before, rows = shard.address, filled.lookup(IDS)
    for _ in range(2):
        start_elsewhere(shard)
        session.move_shard(before, shard.address)
        np.testing.assert_array_equal(filled.lookup(IDS), rows)
    # The program's list of shards stays as it was.
    assert filled.cluster.shards == (before,)


def test_a_later_session_follows_too(shard, filled):
    before, rows = shard.address, filled.lookup(IDS)
    start_elsewhere(shard)
    session.move_shard(before, shard.address)
    later = ptf.Table(filled.name, ptf.Cluster([before], timeout=21.0))
    np.testing.assert_array_equal(later.lookup(IDS), rows)


def test_an_address_that_is_in_use_again_is_no_longer_an_old_name(shard, filled):
    before, rows = shard.address, filled.lookup(IDS)
    start_elsewhere(shard)
    between = shard.address
    session.move_shard(before, between)
    shard.stop()
    shard.start(port=int(before.rpartition(":")[2]))
    session.move_shard(between, before)
    later = ptf.Table(filled.name, ptf.Cluster([before], timeout=22.0))
    np.testing.assert_array_equal(later.lookup(IDS), rows)


def test_a_session_moves_a_shard_by_its_index(shard, filled):
    rows = filled.lookup(IDS)
    start_elsewhere(shard)
    opened = filled.cluster.session
    opened.move_shard(0, shard.address)
    np.testing.assert_array_equal(filled.lookup(IDS), rows)
    with pytest.raises(errors.InvalidArgumentError, match="shard must be below 1"):
        opened.move_shard(1, shard.address)
    with pytest.raises(errors.InvalidArgumentError, match="no port"):
        opened.move_shard(0, "no port")


def test_a_shard_that_is_not_listed_is_followed(start_shards, table, tmp_path):
    [first] = start_shards(1, recovery_folder=str(tmp_path / "first"))
    [second] = start_shards(1, recovery_folder=str(tmp_path / "second"))
    cluster = ptf.Cluster([first.address], timeout=20.0)
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)(IDS, training=True)
    with ClusterAdmin([first.address], 20) as admin:
        reshard(admin, [first.address, second.address])
    rows = ptf.Table(table, cluster).lookup(IDS)
    before = second.address
    for _ in range(2):
        start_elsewhere(second)
        session.move_shard(before, second.address)
        np.testing.assert_array_equal(ptf.Table(table, cluster).lookup(IDS), rows)
    # It learns of the shard by the address that the cluster still knows.
    later = ptf.Table(table, ptf.Cluster([first.address], timeout=25.0))
    np.testing.assert_array_equal(later.lookup(IDS), rows)
    with ClusterAdmin([first.address, second.address], 2) as admin:
        admin.join(second.address)
        present = {each.address for each in admin.topology().present}
    assert present == {first.address, second.address}
    newest = ptf.Table(table, ptf.Cluster([first.address], timeout=26.0))
    np.testing.assert_array_equal(newest.lookup(IDS), rows)
    # The cluster knows it by another address by now than this process.
    start_elsewhere(second)
    session.move_shard(before, second.address)
    last = ptf.Table(table, ptf.Cluster([first.address], timeout=27.0))
    for some in (later, newest, last):
        np.testing.assert_array_equal(some.lookup(IDS), rows)


def test_rows_in_this_process_cannot_move():
    with pytest.raises(errors.FailedPreconditionError, match="no shard can move"):
        ptf.Cluster.embedded().session.move_shard(0, "127.0.0.1:1")


def test_a_session_that_is_being_closed_follows_too(shard, filled):
    layer = ptf.layers.PersiaEmbedding(
        4, table=filled.name, cluster=filled.cluster, optimizer=ptf.optimizers.SGD(1.0)
    )
    before, rows = shard.address, filled.lookup(IDS)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(IDS, training=True))
    shard.stop()
    # The update is sent to a shard that is away.
    variables = layer.trainable_variables
    keras.optimizers.SGD(1.0).apply_gradients(
        zip(tape.gradient(loss, variables), variables)
    )
    with futures.ThreadPoolExecutor(1) as pool:
        closing = pool.submit(session.close_session, filled.cluster.session.name)
        shard.start(port=0)
        session.move_shard(before, shard.address)
        closing.result(timeout=60)
    later = ptf.Table(filled.name, ptf.Cluster([before], timeout=23.0))
    np.testing.assert_allclose(later.lookup(IDS), rows - 1, rtol=1e-6)


def test_no_counter_falls_when_a_session_ends(filled):
    before = ptf.metrics()
    assert before["requests"] > 0
    session.close_session(filled.cluster.session.name)
    after = ptf.metrics()
    present = {"staleness_last", "updates_pending", "batches_registered"}
    falls = [
        name
        for name in before.keys() - present - {"staleness_histogram"}
        if after[name] < before[name]
    ]
    assert falls == []
    assert len(after["staleness_histogram"]) >= len(before["staleness_histogram"])


def test_a_shard_that_has_ended_is_not_a_name_any_more(shard, filled):
    before = shard.address
    session.move_shard(before, "127.0.0.1:1")
    session.close_sessions_of([before])
    later = ptf.Table(filled.name, ptf.Cluster([before], timeout=24.0))
    assert len(later) == len(IDS)


def test_sessions_are_closed_by_their_shards(shard, filled):
    opened = filled.cluster.session
    session.close_sessions_of(["127.0.0.1:1"])
    assert opened in session.open_sessions()
    session.close_sessions_of(["127.0.0.1:1", shard.address])
    assert opened not in session.open_sessions()
