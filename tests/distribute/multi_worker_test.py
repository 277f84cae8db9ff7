"""Several worker processes train one model, whose rows two shards hold."""

import numpy as np
import pytest

from persia_tf._keras import IS_KERAS_3

COMMON = """
import json
import os
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import keras

INDEX = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
random = np.random.default_rng(0)
ids = random.integers(0, 30, (90, 3))
labels = random.integers(0, 2, (90, 1)).astype("float32")
strategy = ptf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=TIMEOUT
    )
)


def make_cluster(staleness=4):
    return ptf.Cluster(timeout=20, staleness=staleness)


def make_model(staleness=4):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4,
        table="t",
        optimizer=ptf.optimizers.SGD(0.5),
        cluster=make_cluster(staleness),
    )(inputs)
    outputs = keras.layers.Dense(1, "sigmoid")(keras.layers.Flatten()(vectors))
    model = keras.Model(inputs, outputs)
    metrics = ["accuracy", keras.metrics.AUC()]
    model.compile("sgd", "binary_crossentropy", metrics=metrics)
    return model


def batches(*columns, size=16):
    return tf.data.Dataset.from_tensor_slices(columns).batch(size)


def say(**results):
    print(json.dumps(results))
""".replace("TIMEOUT", "60")

# The last batch of 90 is smaller, and 4 of 16 have no share of one of 33.
METHODS = """
weights = np.linspace(0.5, 1.5, 90).astype("float32")
with strategy.scope():
    model = make_model()
    fits = [
        model.fit(
            batches(ids, labels),
            validation_data=batches(ids[:33], labels[:33]),
            class_weight={0: 1.0, 1: 2.0},
            epochs=2,
            verbose=0,
        ),
        model.fit(batches(ids, labels, weights), verbose=0),
        model.fit(ids, labels, batch_size=16, verbose=0),
    ]
    loss, accuracy, auc = model.evaluate(batches(ids, labels), verbose=0)
    scores = model.predict(batches(ids), verbose=0)
expected_auc = keras.metrics.AUC()
expected_auc.update_state(labels, scores)
assert len(scores) == 90
np.testing.assert_allclose(accuracy, np.mean((scores > 0.5) == labels), atol=1e-6)
np.testing.assert_allclose(auc, float(expected_auc.result()), atol=1e-6)
say(
    fits=[fit.history for fit in fits],
    evaluated=[loss, accuracy, auc],
    scores=scores.tolist(),
    weights=[w.tolist() for w in model.get_weights()],
)
"""


@pytest.mark.parametrize("count", [2, 4])
def test_all_workers_see_the_same(run_workers, count):
    first, *others = [ended.result() for ended in run_workers(COMMON + METHODS, count)]
    assert others == [first] * (count - 1)
    losses = first["fits"][0]["loss"]
    assert losses[1] < losses[0]
    assert first["fits"][0].keys() >= {"val_loss", "val_accuracy"}


OWN_DATA = """
size = 160 + 40 * INDEX
with strategy.scope():
    model = make_model()

    def own_data(context):
        assert context.input_pipeline_id == INDEX
        rows = np.arange(size) % len(ids)
        return ptf.data.prefetch(batches(ids[rows], labels[rows], size=8), model, 2)

    model.fit(
        strategy.distribute_datasets_from_function(own_data), verbose=0, STEPS
    )
ptf.flush()
metrics = ptf.metrics()
assert metrics["gradients_discarded"] == 0, metrics
assert metrics["prefetch_hits"] > 0, metrics
say(updates=metrics["updates"], weights=[w.tolist() for w in model.get_weights()])
"""


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras asks for a number of steps")
def test_data_may_end_at_different_steps(run_workers):
    program = COMMON + OWN_DATA.replace("STEPS", "epochs=1")
    first, second = [ended.result() for ended in run_workers(program)]
    assert (first["updates"], second["updates"]) == (20, 25)
    assert first["weights"] == second["weights"]


def test_steps_may_be_counted(run_workers):
    program = COMMON + OWN_DATA.replace("STEPS", "steps_per_epoch=10, epochs=2")
    first, second = [ended.result() for ended in run_workers(program)]
    assert first["updates"] == second["updates"] == 20
    assert first["weights"] == second["weights"]


SYNCHRONOUS = """
workers = strategy.num_replicas_in_sync
with strategy.scope():
    model = make_model(staleness=STALENESS)

    def own_data(context):
        own = batches(ids[:80], labels[:80], size=16 // workers).shard(workers, INDEX)
        return AHEAD(own.repeat())

    model.fit(
        strategy.distribute_datasets_from_function(own_data),
        steps_per_epoch=5,
        epochs=6,
        verbose=0,
    )
    # Its metrics are of all workers, once all are here.
    model.evaluate(ids, labels, batch_size=16, verbose=0)
metrics = ptf.metrics()
assert metrics["updates"] == 30, metrics
assert metrics["staleness_max"] == 0, metrics
rows = ptf.Table("t", make_cluster(STALENESS)).lookup(np.arange(30))
say(rows=rows.tolist(), dense=[w.tolist() for w in model.get_weights() if w.size])
"""


@pytest.fixture
def of_one_worker_and_two(run_workers):
    """Trains so; the results of one worker, and of two, which must be equal."""

    def run(program):
        [alone] = [ended.result() for ended in run_workers(COMMON + program, 1)]
        first, second = [ended.result() for ended in run_workers(COMMON + program)]
        assert first == second
        return alone, first

    return run


def assert_close(first, second, tolerance):
    np.testing.assert_allclose(first["rows"], second["rows"], rtol=0, atol=tolerance)
    for one, other in zip(first["dense"], second["dense"]):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    moved = np.abs(first["rows"]) - 0.05  # Rows begin within 0.05.
    assert moved.max() > 5 * tolerance


PREFETCHED = "(lambda data: ptf.data.prefetch(data, model, staleness=0))"


@pytest.mark.parametrize("ahead", ["", PREFETCHED], ids=["plain", "prefetched"])
def test_two_workers_train_as_one_does(of_one_worker_and_two, ahead):
    program = SYNCHRONOUS.replace("STALENESS", "0").replace("AHEAD", ahead)
    alone, together = of_one_worker_and_two(program)
    assert_close(alone, together, 1e-6)


def test_a_stage_may_miss_the_other_workers_last_step(of_one_worker_and_two):
    program = SYNCHRONOUS.replace("STALENESS", "4").replace("AHEAD", PREFETCHED)
    alone, together = of_one_worker_and_two(program)
    assert_close(alone, together, 2e-2)


DYING = """
class DieInMidEpoch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if INDEX == 1 and batch == 2:
            os._exit(3)


with strategy.scope():
    model = make_model()
    model.fit(batches(ids, labels), verbose=0, callbacks=[DieInMidEpoch()])
"""


def test_a_worker_whose_peer_dies_raises(run_workers):
    survivor, dead = run_workers(COMMON.replace("=60", "=30") + DYING)
    assert dead.status == 3
    assert survivor.status == 1
    assert "Collective ops is aborted" in survivor.errors
