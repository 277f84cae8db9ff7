"""The metrics of a program that trains."""

import contextlib
import os
import urllib.request

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

import persia_tf as ptf
from persia_tf import errors, telemetry
from persia_tf._keras import keras
from persia_tf.monitoring import trainer_endpoint
from persia_tf.monitoring.trainer_metrics import TRAINER, TrainerMetrics


def read(url):
    with urllib.request.urlopen(url, timeout=30) as reply:
        text = reply.read().decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_number_of_ptf_metrics_is_served():
    derived = {"staleness_histogram", "staleness_last", "staleness_max"}
    assert {metric.source for metric in TRAINER} | derived == set(ptf.metrics())


def test_staleness_is_a_histogram_of_batches():
    numbers = {**ptf.metrics(), "staleness_histogram": [5, 0, 2, *[0] * 61, 1]}
    (histogram,) = [
        family
        for family in TrainerMetrics(lambda: numbers).collect()
        if family.name == "persia_trainer_staleness_steps"
    ]
    values = {s.labels.get("le", s.name): s.value for s in histogram.samples}
    assert values["0.0"] == 5
    assert values["1.0"] == 5
    assert values["2.0"] == values["63.0"] == 7
    assert values["+Inf"] == values["persia_trainer_staleness_steps_count"] == 8
    assert values["persia_trainer_staleness_steps_sum"] == 2 * 2 + 64


def test_serve_serves_what_metrics_returns():
    with ptf.metrics.serve(port=0) as endpoint:
        served = read(endpoint.url)
    assert served["persia_trainer_updates_total",] <= ptf.metrics()["updates"]


@pytest.mark.parametrize("port", [-1, 65536, "9400"])
def test_a_port_out_of_range_is_refused(port):
    with pytest.raises((ValueError, TypeError), match="port"):
        ptf.metrics.serve(port=port)


def test_the_environment_names_port_and_host(monkeypatch):
    monkeypatch.setenv("PERSIA_METRICS_PORT", "0")
    monkeypatch.setenv("PERSIA_METRICS_HOST", "127.0.0.2")
    with ptf.metrics.serve() as endpoint:
        assert endpoint.address.host == "127.0.0.2"
        assert read(endpoint.url)


@pytest.mark.parametrize("text", ["nine", "-1", "70000"])
def test_a_variable_that_is_no_port_is_refused(monkeypatch, text):
    monkeypatch.setenv("PERSIA_METRICS_PORT", text)
    with pytest.raises(errors.InvalidArgumentError, match="PERSIA_METRICS_PORT"):
        ptf.metrics.serve()


@pytest.fixture
def told_to_serve(monkeypatch):
    """As in a new process whose environment names a port; closes the endpoints."""
    monkeypatch.setattr(trainer_endpoint, "_asked", set())
    with contextlib.ExitStack() as stack:
        started = []

        def serve(*arguments):
            started.append(stack.enter_context(original(*arguments)))
            return started[-1]

        original = trainer_endpoint.serve
        monkeypatch.setattr(trainer_endpoint, "serve", serve)
        yield started


def test_a_session_serves_once_if_the_environment_says_so(monkeypatch, told_to_serve):
    monkeypatch.delenv("PERSIA_METRICS_PORT", raising=False)
    telemetry.serve_if_wanted()
    assert told_to_serve == []
    monkeypatch.setenv("PERSIA_METRICS_PORT", "0")
    for _ in range(2):
        assert ptf.Cluster.embedded().session is not None
    (endpoint,) = told_to_serve
    assert ("persia_trainer_updates_total",) in read(endpoint.url)


def test_a_port_that_is_taken_is_no_reason_not_to_train(monkeypatch, told_to_serve):
    with ptf.metrics.serve(port=0) as other:
        monkeypatch.setenv("PERSIA_METRICS_PORT", str(other.address.port))
        assert ptf.Cluster.embedded().session is not None
    assert told_to_serve == [other]
    assert os.getpid() in trainer_endpoint._asked


def test_the_callback_serves_during_fit():
    callback = ptf.callbacks.MetricsServer(port=0)
    served = []

    class Reader(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            served.append(read(callback.endpoint.url))

    ids = keras.Input((), dtype="int64")
    rows = ptf.layers.PersiaEmbedding(
        2, table="served", cluster=ptf.Cluster.embedded(staleness=4)
    )(ids)
    model = keras.Model(ids, keras.layers.Dense(1)(rows))
    model.compile("sgd", "mse")
    before = ptf.metrics()["training_lookups"]
    model.fit(
        np.arange(8),
        np.ones((8, 1)),
        batch_size=2,
        epochs=2,
        verbose=0,
        callbacks=[callback, Reader()],
    )
    lookups = [each["persia_trainer_training_lookups_total",] for each in served]
    assert lookups == [before + 4, before + 8]
    assert callback.endpoint is None
