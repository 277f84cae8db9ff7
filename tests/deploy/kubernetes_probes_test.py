"""Probes of deploy/kubernetes against a shard with the pod's own options, and TLS."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import urllib.request

import grpc
import kubernetes_checks as checks
import kubernetes_manifests as manifests
import pytest
from harness import wait_until

import persia_tf as ptf
from persia_tf.credentials import tls as tls_lib

_SERVING = b"\x08\x01"  # grpc.health.v1.HealthCheckResponse


class ShardOfThePod:
    """A shard with the pod's options, on free ports of this machine.

    Attributes:
        data: The port of requests; `control` and `metrics` are the others.
    """

    def __init__(self, pod, folder, environment):
        ports = folder / "ports"
        self._output = folder / "output"
        args = [
            f"{each.partition('=')[0]}=0" if "port=" in each else each
            for each in checks.arguments_below(pod, folder)
        ]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "persia_tf", *args, f"--port-file={ports}"],
                stderr=output,
                env={**os.environ, **environment, "PYTHONPATH": ":".join(sys.path)},
            )

        def started():
            assert self._process.poll() is None, self._output.read_text()
            return ports.exists()

        wait_until(started, "the shard")
        self.data, self.control, self.metrics = map(int, ports.read_text().split())

    def end(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture
def files(certificates, token_file):
    """The variables of `persia-cluster`, and files of this test that they name."""
    return {
        "PERSIA_AUTH_TOKEN_FILE": token_file(b"a token of 24 characters"),
        **certificates.tls("ps-0").environment(),
    }


@pytest.fixture
def shard(files, tmp_path):
    objects = manifests.rendered("with a volume")
    pod = checks.shard_of(objects)
    assert files.keys() <= pod.environment(objects).keys()
    running = ShardOfThePod(pod, tmp_path, files)
    yield running
    running.end()


def test_probes_find_a_shard_with_tls_that_serves(shard, files, certificates):
    pod = checks.shard_of(manifests.rendered("with a volume"))
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        name = pod.container[kind]["grpc"]["service"].encode()
        with grpc.insecure_channel(f"127.0.0.1:{shard.control}") as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert check(b"\x0a" + bytes([len(name)]) + name, timeout=20) == _SERVING
    context = ssl.create_default_context(cafile=files["PERSIA_TLS_CA"])
    url = f"https://127.0.0.1:{shard.metrics}/metrics"
    with urllib.request.urlopen(url, timeout=20, context=context) as answer:
        assert b"persia_" in answer.read()
    cluster = ptf.Cluster(
        [f"127.0.0.1:{shard.data}"],
        timeout=20,
        auth_token_file=files["PERSIA_AUTH_TOKEN_FILE"],
        tls=tls_lib.TLS(**certificates.tls("trainer").get_config()),
    )
    [stats] = cluster.stats()
    assert not stats.tables
