"""Replicas: they train the rows that one replica would of the global batch."""

import json
import os
import socket
import subprocess
import sys

import pytest

from persia_tf._keras import IS_KERAS_3

COMMON = """
import json
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

random = np.random.default_rng(0)
ids = random.integers(0, 30, (96, 3))
labels = random.normal(size=(96, 1)).astype("float32")
STEPS, EPOCHS = 6, 2


def batches(size, number=0, of=1):
    data = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(size)
    return data.shard(of, number)


def make_model(table, cluster=None, combiner=None):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster, embeddings_initializer="ones",
        optimizer=ptf.optimizers.SGD(0.1), combiner=combiner,
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(vectors)))
    model.compile("sgd", "mse")
    return model


class Flush(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        ptf.flush()


def fit(model, dataset, **options):
    model.fit(dataset, steps_per_epoch=STEPS, epochs=EPOCHS, verbose=0, **options)


def expected_rows(combiner=None):
    model = make_model("expected", combiner=combiner)
    fit(model, batches(16).repeat(), callbacks=[Flush()])
    return ptf.Table("expected").lookup(np.arange(30))


def assert_close(table, expected, cluster=None):
    rows = ptf.Table(table, cluster=cluster).lookup(np.arange(30))
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-6)
    assert np.abs(rows - 1).max() > 0.01
"""

TWO_REPLICAS = (
    COMMON
    + """
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def replicated(table, *arguments):
    with strategy.scope():
        return make_model(table, *arguments)


def prefetched(model, staleness):
    return strategy.distribute_datasets_from_function(
        lambda context: ptf.data.prefetch(batches(8).repeat(), model, staleness)
    )
"""
)

PLAIN = """
fit(replicated("replicated"), batches(16).repeat(), callbacks=[Flush()])
assert_close("replicated", expected_rows())
"""

SYNCHRONOUS = """
model = replicated("replicated")
before = ptf.metrics()
fit(model, prefetched(model, 0))
after = ptf.metrics()
assert after["updates"] - before["updates"] == STEPS * EPOCHS, after
assert after["staleness_max"] == 0, after
assert after["prefetch_hits"] > 0, after
assert_close("replicated", expected_rows())
"""

# The only shard pools, and takes the bags of both replicas in one update.
BAGS = """
import ctypes
from persia_tf import _native

server = _native.ServerHandle()
options = _native.ServerOptions(host=b"127.0.0.1", io_threads=2)
_native.library().persia_server_start(ctypes.byref(options), None, ctypes.byref(server))
port = _native.library().persia_server_port(server)
cluster = ptf.Cluster([f"127.0.0.1:{port}"], timeout=20)
fit(
    replicated("replicated", cluster, "mean"),
    batches(16).repeat(),
    callbacks=[Flush()],
)
[shard] = cluster.stats()
assert shard.updates == STEPS * EPOCHS, shard
assert_close("replicated", expected_rows("mean"), cluster)
"""

STALE = """
model = replicated("replicated")
fit(model, prefetched(model, 2))
ptf.flush()
metrics = ptf.metrics()
assert metrics["updates"] == STEPS * EPOCHS, metrics
assert metrics["prefetch_hits"] > 0, metrics
assert metrics["staleness_max"] <= 2, metrics
assert metrics["gradients_discarded"] == 0, metrics
"""

CUSTOM_LOOP = """
model = replicated("replicated")
with strategy.scope():
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)


def step(ids, labels):
    with tf.GradientTape() as tape:
        errors = (model(ids, training=True) - labels) ** 2
        loss = tf.nn.compute_average_loss(errors[:, 0], global_batch_size=16)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


run = tf.function(lambda element: strategy.run(step, element))
iterator = iter(prefetched(model, 0))
for _ in range(STEPS * EPOCHS):
    run(next(iterator))
assert_close("replicated", expected_rows())
"""


@pytest.mark.parametrize(
    "program",
    [PLAIN, SYNCHRONOUS, BAGS, STALE, CUSTOM_LOOP],
    ids=["plain fit", "synchronous fit", "bags", "stale fit", "custom loop"],
)
def test_two_replicas_in_a_process(program, run_python):
    run_python(TWO_REPLICAS + program)


WORKER = (
    COMMON
    + """
strategy = tf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=60
    )
)
import os
cluster = ptf.Cluster(os.environ["SHARDS"].split(","), timeout=20)
with strategy.scope():
    model = make_model("replicated", cluster)
before = ptf.metrics()


def dataset(context):
    own = batches(8, context.input_pipeline_id, context.num_input_pipelines)
    return ptf.data.prefetch(own.repeat(), model, staleness=0)


fit(model, strategy.distribute_datasets_from_function(dataset))
metrics = ptf.metrics()
assert metrics["updates"] == STEPS * EPOCHS, metrics
assert metrics["staleness_max"] == 0, metrics
assert metrics["prefetch_hits"] > 0, metrics
print(json.dumps([np.asarray(w).tolist() for w in model.get_weights()]))
"""
)

CHECK = (
    COMMON
    + """
import os
cluster = ptf.Cluster(os.environ["SHARDS"].split(","), timeout=20)
assert_near = np.testing.assert_allclose
rows = ptf.Table("replicated", cluster=cluster).lookup(np.arange(30))
# The other worker's update of a step may come before or after one's lookup.
assert_near(rows, expected_rows(), rtol=0, atol=0.01)
assert np.abs(rows - 1).max() > 0.02
"""
)


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3's fit fails with this strategy")
def test_two_workers_against_two_shards(start_shards, run_python, monkeypatch):
    addresses = [shard.address for shard in start_shards(2)]
    monkeypatch.setenv("SHARDS", ",".join(addresses))
    first, second = run_workers(2)
    assert first == second  # The dense weights, which all workers share.
    run_python(CHECK)


def run_workers(count):
    workers = [f"127.0.0.1:{port}" for port in free_ports(count)]
    started = []
    try:
        for index in range(count):
            task = {"type": "worker", "index": index}
            config = json.dumps({"cluster": {"worker": workers}, "task": task})
            environment = {**os.environ, "TF_CONFIG": config}
            environment["PYTHONPATH"] = os.pathsep.join(sys.path)
            started.append(
                subprocess.Popen(
                    [sys.executable, "-c", WORKER],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        outputs = []
        for process in started:
            output, errors = process.communicate(timeout=240)
            assert process.returncode == 0, errors
            outputs.append(json.loads(output.splitlines()[-1]))
        return outputs
    finally:
        for process in started:
            process.kill()
            process.wait()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
