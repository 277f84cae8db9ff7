"""What `ptf.callbacks.LookupMetrics` and `ptf.metrics()` report."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.arange(64).reshape(16, 4)
LABELS = np.ones((16, 4, 1))


@pytest.fixture
def model(cluster, table):
    inputs = keras.Input(shape=(4,), dtype="int64")
    rows = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(rows))
    model.compile("sgd", "mse")
    return model


def fit(model, **options):
    lookups = ptf.callbacks.LookupMetrics()
    history = model.fit(
        IDS, LABELS, batch_size=4, verbose=0, callbacks=[lookups], **options
    )
    return lookups, history


def test_every_batch_has_its_numbers(model):
    lookups, _ = fit(model, epochs=2)
    assert len(lookups.batches) == 8
    for batch in lookups.batches:
        assert 0 <= batch["staleness"] <= 4
        assert batch["lookup_requests"] == 1
        assert batch["retries"] == 0


def test_the_bytes_of_the_batches_are_those_of_the_program(model, cluster):
    fit(model)
    before = ptf.metrics()
    lookups, _ = fit(model)
    ptf.flush()
    after = ptf.metrics()
    for name in ("bytes_out", "bytes_in"):
        reported = sum(batch[name] for batch in lookups.batches)
        passed = after[name] - before[name]
        assert 0 <= reported <= passed
        assert (reported > 0) == (not cluster.is_embedded)


def test_an_epochs_logs_tell_the_worst(model):
    lookups, history = fit(model, epochs=2)
    worst = [max(b["staleness"] for b in lookups.batches[i : i + 4]) for i in (0, 4)]
    assert history.history["persia_staleness_max"] == worst
    assert min(history.history["persia_lookup_wait_seconds"]) >= 0


def test_an_epochs_logs_have_what_tensorboard_plots(model, cluster):
    _, history = fit(model, epochs=2)
    logs = history.history
    assert logs["persia_hit_rate"] == [0.0, 1.0]
    assert logs["persia_rows"] == [64, 64]
    bytes_per_batch = logs["persia_bytes_per_batch"]
    assert (min(bytes_per_batch) > 0) == (not cluster.is_embedded)


@pytest.mark.parametrize("options", [{}, {"update_freq": 1}])
def test_keras_own_tensorboard_writes_the_scalars(model, tmp_path, options):
    import tensorflow as tf

    lookups = ptf.callbacks.LookupMetrics()
    board = keras.callbacks.TensorBoard(tmp_path, **options)
    model.fit(IDS, LABELS, batch_size=4, verbose=0, callbacks=[lookups, board])
    written = {
        value.tag
        for path in tmp_path.rglob("events.out.tfevents.*")
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    }
    of_epoch = ("staleness_max", "lookup_wait_seconds", "bytes_per_batch", "rows")
    assert {f"epoch_persia_{name}" for name in of_epoch} <= written
    of_batches = {"batch_persia_staleness", "batch_persia_bytes_out"}
    assert of_batches & written == (of_batches if options else set())


def test_a_batch_without_training_lookups_has_no_staleness(model):
    model.layers[1].trainable = False
    model.compile("sgd", "mse")
    lookups, _ = fit(model)
    assert [batch["staleness"] for batch in lookups.batches] == [None] * 4


def test_the_histogram_counts_every_training_batch(model):
    before = sum(ptf.metrics()["staleness_histogram"])
    fit(model, validation_data=(IDS, LABELS))
    metrics = ptf.metrics()
    assert sum(metrics["staleness_histogram"]) - before == 4
    most = min(metrics["staleness_max"], 64)  # The last bin counts all higher values.
    assert len(metrics["staleness_histogram"]) == most + 1
