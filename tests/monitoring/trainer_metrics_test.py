"""The metrics of a program that trains."""

import contextlib
import os
import socket
import urllib.error
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
    for serve in (ptf.metrics.serve, ptf.callbacks.MetricsServer):
        with pytest.raises((ValueError, TypeError), match="`port` must be an integer"):
            serve(port=port)


def test_an_argument_of_another_type_is_refused():
    with pytest.raises(TypeError, match="`tls` must be a `ptf.TLS` or None"):
        ptf.metrics.serve(port=0, tls="x.pem")
    with pytest.raises(TypeError, match="`host` must be a str or None"):
        ptf.callbacks.MetricsServer(host=7)


def test_the_users_of_an_address_share_its_endpoint():
    with ptf.metrics.serve(port=0) as first:
        second = ptf.metrics.serve(port=first.address.port)
        assert second.url == first.url
    assert read(second.url)
    first.close()  # Once more, which changes nothing.
    assert read(second.url)
    second.close()
    with pytest.raises(urllib.error.URLError):
        read(second.url)


def test_a_port_that_this_program_serves_otherwise_is_told():
    with ptf.metrics.serve(port=0) as first:
        with pytest.raises(errors.UnavailableError) as raised:
            ptf.metrics.serve(port=first.address.port, host="localhost")
    assert f"This program itself serves its metrics on {first.url}" in str(raised.value)


def test_a_port_of_another_program_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with pytest.raises(errors.UnavailableError, match="another port") as raised:
            ptf.metrics.serve(port=port)
    assert "itself" not in str(raised.value)


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


def test_a_session_serves_once_if_the_environment_says_so(
    monkeypatch, told_to_serve, capfd
):
    monkeypatch.delenv("PERSIA_METRICS_PORT", raising=False)
    telemetry.serve_if_wanted()
    assert told_to_serve == []
    monkeypatch.setenv("PERSIA_METRICS_PORT", "0")
    for _ in range(2):
        assert ptf.Cluster.embedded().session is not None
    (endpoint,) = told_to_serve
    assert capfd.readouterr().err.count(f"Metrics on {endpoint.url}\n") == 1
    assert ("persia_trainer_updates_total",) in read(endpoint.url)


def test_a_port_that_is_taken_is_no_reason_not_to_train(monkeypatch, told_to_serve):
    with socket.create_server(("127.0.0.1", 0)) as used:
        monkeypatch.setenv("PERSIA_METRICS_PORT", str(used.getsockname()[1]))
        assert ptf.Cluster.embedded().session is not None
    assert told_to_serve == []
    assert os.getpid() in trainer_endpoint._asked


def fit(*callbacks):
    ids = keras.Input((), dtype="int64")
    rows = ptf.layers.PersiaEmbedding(
        2, table="served", cluster=ptf.Cluster.embedded(staleness=4)
    )(ids)
    model = keras.Model(ids, keras.layers.Dense(1)(rows))
    model.compile("sgd", "mse")
    model.fit(
        np.arange(8),
        np.ones((8, 1)),
        batch_size=2,
        epochs=2,
        verbose=0,
        callbacks=list(callbacks),
    )


def test_the_callback_serves_during_fit(capfd):
    callback = ptf.callbacks.MetricsServer(port=0)
    served, told = [], []

    class Reader(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            urls.add(callback.endpoint.url)
            served.append(read(callback.endpoint.url))
            told.append(capfd.readouterr().err)

    urls = set()
    before = ptf.metrics()["training_lookups"]
    fit(callback, Reader())
    lookups = [each["persia_trainer_training_lookups_total",] for each in served]
    assert lookups == [before + 4, before + 8]
    (url,) = urls
    assert "".join(told).count(f"Metrics on {url}\n") == 1
    assert callback.endpoint is None


def test_a_callback_uses_the_port_of_one_whose_fit_raised():
    class Raiser(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise RuntimeError("the fit raised")

    failed = ptf.callbacks.MetricsServer(port=0)
    with pytest.raises(RuntimeError, match="the fit raised"):
        fit(failed, Raiser())
    url, port = failed.endpoint.url, failed.endpoint.address.port
    assert read(url)
    seen = []

    class Reader(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(read(url))

    fit(ptf.callbacks.MetricsServer(port=port), Reader())
    assert len(seen) == 2
    fit(failed)  # Its next fit closes what the failed one left open.
    with pytest.raises(urllib.error.URLError):
        read(url)
