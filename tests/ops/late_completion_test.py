"""A lookup that completes on another thread, long after it was started.

A relay in front of a shard holds all replies back until the test releases them. By then
the op's compute function has returned.
"""

import socket
import threading

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf

IDS = np.array([5, 7, 5])
SECONDS = 60


class HoldingRelay:
    """Forwards one connection; holds back what the shard sends while told to."""

    def __init__(self, port):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._port = port
        self._may_reply = threading.Event()
        self._may_reply.set()
        self.holding = threading.Event()
        self._sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self):
        self.holding.clear()
        self._may_reply.clear()

    def let_go(self):
        self._may_reply.set()

    def close(self):
        self.let_go()
        for opened in [self._listener, *self._sockets]:
            opened.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            shard = socket.create_connection(("127.0.0.1", self._port))
            self._sockets += [client, shard]
            for pump, ends in (
                (self._pump_requests, (client, shard)),
                (self._pump_replies, (shard, client)),
            ):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    def _pump_requests(self, client, shard):
        for data in received(client):
            shard.sendall(data)

    def _pump_replies(self, shard, client):
        for data in received(shard):
            if not self._may_reply.is_set():
                self.holding.set()
            self._may_reply.wait(SECONDS)
            client.sendall(data)


def received(connection):
    try:
        while data := connection.recv(1 << 16):
            yield data
    except OSError:
        return


@pytest.fixture
def relay(start_shards):
    relay = HoldingRelay(start_shards(1)[0].port)
    yield relay
    relay.close()


@pytest.fixture
def layer(relay, table):
    cluster = ptf.Cluster([relay.address], timeout=SECONDS)
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
    layer(tf.constant(IDS), training=True)
    return layer


def eager(layer):
    return layer(tf.constant(IDS), training=False)


def graph(layer):
    @tf.function
    def run(ids):
        # Ops after the lookup run on the thread where it completes.
        return tf.matmul(layer(ids, training=False), tf.eye(4))

    return run(tf.constant(IDS))


def graph_for_training(layer):
    @tf.function
    def run(ids):
        return layer(ids, training=True)

    return run(tf.constant(IDS))


def tf_data(layer):
    dataset = tf.data.Dataset.from_tensors(IDS).repeat(3)
    dataset = dataset.map(lambda ids: layer(ids, training=False), num_parallel_calls=2)
    return [batch.numpy() for batch in dataset][-1]


@pytest.mark.parametrize("run", [eager, graph, graph_for_training, tf_data])
def test_lookup_that_completes_late(run, relay, layer):
    expected = np.array(run(layer))
    assert expected.shape == (3, 4)
    relay.hold()
    results = []
    thread = threading.Thread(target=lambda: results.append(np.array(run(layer))))
    thread.start()
    assert relay.holding.wait(SECONDS)
    assert thread.is_alive()
    assert not results
    relay.let_go()
    thread.join(SECONDS)
    np.testing.assert_array_equal(results[0], expected)
