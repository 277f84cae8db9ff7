"""Replicas train rows as one replica would with the global batch."""

import programs
import pytest

COMMON = """
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
    programs.preamble("mirrored")
    + COMMON
    + """
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

# There is only one shard. It pools, and takes the bags of both replicas in one update.
BAGS = """
from persia_tf.native import capi, servers

server = servers.start(servers.SHARD, {})
port = capi.library().persia_server_port(server)
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
    [
        pytest.param(PLAIN, marks=pytest.mark.slow),
        pytest.param(SYNCHRONOUS, marks=pytest.mark.slow),
        BAGS,
        pytest.param(STALE, marks=pytest.mark.slow),
        CUSTOM_LOOP,
    ],
    ids=["plain fit", "synchronous fit", "bags", "stale fit", "custom loop"],
)
def test_two_replicas_in_a_process(program, run_python):
    run_python(TWO_REPLICAS + program)
