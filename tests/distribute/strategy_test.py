"""Which workers the strategy uses, and what it does without any."""

import json

import pytest
import tensorflow as tf

import persia_tf as ptf


def test_shards_are_no_workers():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["a:1"], "ps": ["b:1"]}),
        task_type="worker",
        task_id=0,
    )
    with pytest.raises(ValueError, match="not list `ps` tasks"):
        ptf.distribute.MultiWorkerMirroredStrategy(resolver)


def test_a_shard_runs_no_strategy(monkeypatch):
    cluster = {"worker": ["a:1"], "ps": ["b:1"]}
    config = {"cluster": cluster, "task": {"type": "ps", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(ValueError, match="persia ps"):
        ptf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.parametrize(("given", "expected"), [(None, 300), (7, 7), (0, 0)])
def test_workers_wait_no_longer_than_asked_with_other_options(given, expected):
    options = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=1024, timeout_seconds=given, implementation="RING"
    )
    strategy = ptf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    used = strategy.extended._communication_options
    assert strategy.timeout_seconds == expected
    # TensorFlow's own timeouts cost a thread for each operation.
    assert used.timeout_seconds is None
    assert used.bytes_per_pack == 1024
    assert used.implementation.value == "RING"


def test_workers_wait_five_minutes_without_options():
    strategy = ptf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.timeout_seconds == 300


def test_options_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="CommunicationOptions"):
        ptf.distribute.MultiWorkerMirroredStrategy(communication_options={})


ALONE = """
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import keras

strategy = ptf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(4, table="t", combiner="sum")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile("sgd", "mse")
    model.fit(np.ones((20, 3), "int64"), np.ones((20, 1)), batch_size=8, verbose=0)
ptf.flush()
assert ptf.metrics()["updates"] == 3
"""


@pytest.mark.slow
def test_one_worker_needs_no_cluster(run_python):
    run_python(ALONE)
