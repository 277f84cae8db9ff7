"""Live shards get many mutated frames, while their other clients notice nothing.

N=1000000 pytest tests/faults/mutated_frames_test.py
PERSIA_SHARD_HOST=build/native-address/shard_host ...   # a sanitised one, too
"""

import os
from concurrent import futures

import numpy as np
import pytest
from frames import Mutator, Recorder, connect, receive_frame

import persia_tf as ptf
from persia_tf._keras import keras

MUTATIONS = int(os.environ.get("N", "20000"))
CONNECTIONS = 4
SEED = 20
# How much memory the allocator may hold beyond the tables, for any N.
MOST_GROWTH_BYTES = 150 << 20
HOST = os.environ.get("PERSIA_SHARD_HOST")
SANITIZER = {
    "ASAN_OPTIONS": "quarantine_size_mb=16",
    "UBSAN_OPTIONS": "halt_on_error=1",
}


def record(address):
    """Records the frames of a client that uses all that a shard offers."""
    frames = set()
    for dtype in ("float32", "float16", "bfloat16", "int8", "int4"):
        with Recorder(address) as recorder:
            cluster = ptf.Cluster(
                [recorder.address], timeout=20, staleness=0, wire_dtype=dtype
            )
            train_samples(cluster, f"sample_{dtype}")
            use_whole_rows(cluster, f"sample_{dtype}_0")
            frames |= recorder.frames
    return sorted(frames)


def train_samples(cluster, name):
    inputs = keras.Input(shape=(3,), dtype="int64")
    vectors = [
        ptf.layers.PersiaEmbedding(
            2, table=f"{name}_{i}", cluster=cluster, combiner=combiner
        )(inputs)
        for i, combiner in enumerate([None, "mean"])
    ]
    flat = keras.layers.Concatenate()([keras.layers.Flatten()(v) for v in vectors])
    model = keras.Model(inputs, keras.layers.Dense(1)(flat))
    model.compile("sgd", "mse")
    ids = np.array([[1, 2, 3], [1, 5, -6]])
    model.fit(ids, np.ones((2, 1)), verbose=0)
    model.predict(ids, verbose=0)
    cluster.flush()


def use_whole_rows(cluster, name):
    table = ptf.Table(name, cluster=cluster)
    table.assign([1, 9], np.ones((2, 2), "float32"))
    [page] = table.export(batch_size=100)
    assert len(page.ids) > 2
    assert table.remove([9]) == 1
    cluster.stats()


class HealthyClient:
    """Trains rows that count their updates, and checks them."""

    def __init__(self, address):
        self._cluster = ptf.Cluster([address], timeout=20, staleness=0)
        inputs = keras.Input(shape=(), dtype="int64")
        vectors = ptf.layers.PersiaEmbedding(
            1,
            table="healthy",
            cluster=self._cluster,
            embeddings_initializer="zeros",
            optimizer=ptf.optimizers.SGD(1.0),
        )(inputs)
        self._model = keras.Model(inputs, vectors)
        self._model.compile("sgd", lambda _, vector: -keras.ops.sum(vector))
        self._ids = np.arange(8)
        self.steps = 0

    def check(self):
        """Trains a step; checks that the rows are as if no other client were there."""
        self._model.train_on_batch(self._ids, np.zeros((8, 1), "float32"))
        self.steps += 1
        rows = ptf.Table("healthy", cluster=self._cluster).lookup(self._ids)
        np.testing.assert_array_equal(rows, np.full((8, 1), self.steps))

    def close(self):
        counters = self._cluster.session.counters()
        assert counters["reconnects"] == counters["retries"] == 0


def send_mutations(address, frames, index):
    """Sends one connection's share; returns how many a server must have counted."""
    mutator = Mutator(frames, seed=f"{SEED}/{index}")
    broken = 0
    sock = connect(address)
    for _ in range(MUTATIONS // CONNECTIONS):
        mutated = mutator.draw()
        if mutated.is_whole:
            sock.sendall(mutated.data)
            assert receive_frame(sock), f"not answered: {mutated.data.hex()}"
            continue
        send_and_await_end(sock, mutated.data)
        broken += mutated.is_broken
        sock = connect(address)
    sock.close()
    return broken


def send_and_await_end(sock, data):
    with sock:
        try:
            sock.sendall(data)
            sock.shutdown(1)
            while sock.recv(1 << 16):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass  # It had seen enough before all of it had come. A time-out fails.
        except OSError as error:
            assert not isinstance(error, TimeoutError), f"kept: {data.hex()}"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(None, id="persia_ps"),
        pytest.param(
            HOST,
            id="sanitised",
            marks=pytest.mark.skipif(not HOST, reason="PERSIA_SHARD_HOST is not set"),
        ),
    ],
)
def test_a_shard_survives_whatever_it_is_sent(command, shard_process):
    options = {"command": [command], "env": SANITIZER} if command else {}
    shard = shard_process(**options)
    frames = record(shard.address)
    assert {frame.type for frame in frames} == {2, 4, 6, 8, 10, 12, 14, 24}
    healthy = HealthyClient(shard.address)
    healthy.check()
    before = shard.resident_bytes - table_bytes(shard)
    with futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        senders = [
            pool.submit(send_mutations, shard.address, frames, index)
            for index in range(CONNECTIONS)
        ]
        while futures.wait(senders, timeout=0.02).not_done:
            healthy.check()
        broken = sum(sender.result() for sender in senders)
    healthy.check()
    healthy.close()
    assert broken > MUTATIONS // 10
    [process] = ptf.Cluster([shard.address]).stats()
    assert broken <= process.bad_frames <= MUTATIONS
    tables = table_bytes(shard)
    growth = shard.resident_bytes - tables - before
    print(
        f"{MUTATIONS} mutated frames, {process.bad_frames} of them no frames; "
        f"{healthy.steps} steps of a healthy client; {growth >> 20} MiB more memory "
        f"beside tables of {tables >> 20} MiB ({len(process.tables)} of them)"
    )
    assert growth < MOST_GROWTH_BYTES, f"{growth} bytes more, besides the tables"
    assert shard.stop() == 0, shard.log


def table_bytes(shard):
    [process] = ptf.Cluster([shard.address]).stats()
    return sum(table.bytes for table in process.tables)
