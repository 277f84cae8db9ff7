"""The program of the data workers: it serves the dataset of a trainer."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import kubernetes_manifests as manifests
import pytest
import tensorflow as tf
from harness import wait_until

PROGRAM = manifests.FOLDER / "data-workers/data_service.py"
HOST = "127.0.0.1"


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def options_of(component, *, port, **values):
    """The pod's options, with values of this test."""
    [pod] = manifests.pods("plain", component)
    python, program, *args = pod.container["args"]
    assert (python, program) == ("python", "/etc/persia/data/data_service.py")
    values = {"port": port, **values}
    assert [each.partition("=")[0] for each in args[1:]] == [
        f"--{name.replace('_', '-')}" for name in values
    ]
    assert f"--port={[*pod.ports.values()][0]}" in args
    return [
        args[0],
        *(f"--{name}={value}".replace("_", "-", 1) for name, value in values.items()),
    ]


class Service:
    """A process of the program."""

    def __init__(self, folder, component, **values):
        self._output = folder / component
        self.port = values["port"]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, PROGRAM, *options_of(component, **values)],
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_until_it_listens(self):
        def listens():
            assert self._process.poll() is None, self._output.read_text()
            return b"listening" in self._output.read_bytes()

        wait_until(listens, "tf.data service")

    def stop(self):
        """Ends the process as Kubernetes does; returns its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def end(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture
def start(tmp_path):
    started = []

    def start(component, **values):
        service = Service(tmp_path, component, port=free_port(), **values)
        started.append(service)
        service.wait_until_it_listens()
        return service

    yield start
    for service in started:
        service.end()


def test_a_trainer_reads_a_dataset_that_workers_make(start, tmp_path):
    dispatcher = start("data-dispatcher", work_dir=tmp_path / "journal")
    worker = start("data-worker", host=HOST, dispatcher=f"{HOST}:{dispatcher.port}")
    dataset = tf.data.Dataset.range(20).map(lambda item: 2 * item)
    dataset = dataset.apply(
        tf.data.experimental.service.distribute(
            "distributed_epoch", f"grpc://{HOST}:{dispatcher.port}"
        )
    )
    assert sorted(dataset.as_numpy_iterator()) == list(range(0, 40, 2))
    del dataset
    assert worker.stop() == 0
    assert dispatcher.stop() == 0
