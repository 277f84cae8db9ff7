"""Which of the other workers have ended, or do not answer."""

import socket
import threading
from concurrent import futures

import pytest
import tensorflow as tf

from persia_tf.base.addresses import Address
from persia_tf.distribute import named_failures
from persia_tf.distribute.peers import Peers
from persia_tf.processes import grpc_port
from persia_tf.processes.free_ports import free_ports


@pytest.fixture
def ended():
    """The address of a worker on whose port nothing listens."""
    [port] = free_ports(1)
    return f"127.0.0.1:{port}"


@pytest.fixture
def listener():
    """A socket that listens, as that of a stopped process."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


@pytest.fixture
def alive():
    """The address of a gRPC server."""
    server = grpc_port.make_server(futures.ThreadPoolExecutor(1))
    address = grpc_port.listen(server, Address("127.0.0.1", 0), "a test")
    server.start()
    yield str(address)
    server.stop(0).wait()


@pytest.fixture
def reporting(monkeypatch):
    """Adds reports of peers to errors, for the time of a test."""
    monkeypatch.setattr(named_failures, "_peers", None)
    monkeypatch.setattr(tf.errors.OpError, "__init__", tf.errors.OpError.__init__)
    return named_failures.name_failed_workers


def address_of(listener):
    return f"127.0.0.1:{listener.getsockname()[1]}"


def lost(*tasks):
    """An error of TensorFlow that workers have passed on, the first one first."""
    calls = (f"remote target /job:worker/replica:0/task:{task} while" for task in tasks)
    return "Connection reset by peer " + " calling ".join(calls)


def test_a_worker_that_has_ended_is_named(ended, alive):
    report = Peers({"worker 0": alive, "worker 1": ended}).report("")
    assert f"worker 1 ({ended}): it has ended, since nothing listens" in report
    assert "worker 0" not in report


def test_a_worker_that_does_not_answer_is_named(listener):
    report = Peers({"worker 1": address_of(listener)}, 0.1).report("")
    assert f"worker 1 ({address_of(listener)}): it does not answer" in report


def test_a_worker_that_is_just_ending_is_named(listener):
    def close_one():
        listener.accept()[0].close()

    closing = threading.Thread(target=close_one)
    closing.start()
    report = Peers({"worker 1": address_of(listener)}).report("")
    closing.join()
    assert "it has ended, since it has closed the connection" in report


def test_an_address_that_is_none():
    report = Peers({"worker 1": "nowhere"}).report("")
    assert "worker 1 (nowhere): it cannot be reached" in report


def test_all_answer(alive):
    assert "all answer" in Peers({"worker 1": alive}).report("")
    report = Peers({"worker 1": alive}).report(lost(1))
    assert f"worker 1 ({alive}): an exchange with it has failed" in report


def test_the_first_error_is_told_first(ended):
    workers = {"worker 0": ended, "worker 1": ended, "worker 2": ended}
    report = Peers(workers).report(lost(1, 2))
    places = [report.index(f"worker {index}") for index in (1, 0, 2)]
    assert places == sorted(places)


def test_the_others_of_a_cluster(ended):
    spec = tf.train.ClusterSpec({"chief": [ended], "worker": ["a:1", ended]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        spec, task_type="worker", task_id=0
    )
    report = Peers.of(resolver).report("")
    assert f"chief 0 ({ended})" in report
    assert f"worker 1 ({ended})" in report
    assert "worker 0" not in report


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Collective ops is aborted by: reset", True),
        ("reset\nAdditional GRPC error information from remote target", True),
        ("something else", False),
    ],
)
def test_an_error_of_an_exchange_has_the_report_once(message, named, ended, reporting):
    reporting(Peers({"worker 1": ended}))
    error = tf.errors.UnavailableError(None, None, message)
    again = tf.errors.UnavailableError(None, None, error.message)
    assert str(error).count(f"worker 1 ({ended}): it has ended") == named
    assert again.message == error.message
