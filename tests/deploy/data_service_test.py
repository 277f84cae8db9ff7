"""The data workers of deploy/kubernetes: they serve the dataset of a trainer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import kubernetes_manifests as manifests
import pytest
import tensorflow as tf
from harness import wait_until

HOST = "127.0.0.1"


def options_of(component, **values):
    """The pod's options, of which some have values of this test."""
    [pod] = manifests.pods("plain", component)
    program, *args = pod.container["args"]
    assert program == "persia"
    given = {f"--{name.replace('_', '-')}": value for name, value in values.items()}
    own = [each for each in args if each.partition("=")[0] not in given]
    assert len(own) == len(args) - len(given)
    return [*own, *(f"{name}={value}" for name, value in given.items())]


class Service:
    """A process of a pod."""

    def __init__(self, folder, component, **values):
        self._output, self._ports = folder / component, folder / f"{component}-port"
        args = options_of(component, port=0, host=HOST, **values)
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "persia_tf", *args),
                    f"--port-file={self._ports}",
                ],
                stderr=output,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )

    def wait_until_it_listens(self):
        def listens():
            assert self._process.poll() is None, self._output.read_text()
            return self._ports.exists()

        wait_until(listens, "tf.data service")
        self.address = f"{HOST}:{int(self._ports.read_text())}"

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
        service = Service(tmp_path, component, **values)
        started.append(service)
        service.wait_until_it_listens()
        return service

    yield start
    for service in started:
        service.end()


def test_a_trainer_reads_a_dataset_that_workers_make(start, tmp_path):
    dispatcher = start("data-dispatcher", work_dir=tmp_path / "journal")
    worker = start("data-worker", dispatcher=dispatcher.address)
    dataset = tf.data.Dataset.range(20).map(lambda item: 2 * item)
    dataset = dataset.apply(
        tf.data.experimental.service.distribute(
            "distributed_epoch", f"grpc://{dispatcher.address}"
        )
    )
    assert sorted(dataset.as_numpy_iterator()) == list(range(0, 40, 2))
    del dataset
    assert worker.stop() == 0
    assert dispatcher.stop() == 0
