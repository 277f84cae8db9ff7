"""Fixtures: Ray with several nodes on this machine, and clusters on it."""

from __future__ import annotations

import pytest
from ray_nodes import Nodes

import persia_tf as ptf


@pytest.fixture(scope="session")
def nodes():
    ray = pytest.importorskip("ray")
    started = Nodes()
    try:
        ray.init(address=started.address, logging_level="warning")
        yield started
    finally:
        ray.shutdown()
        started.stop()


@pytest.fixture
def start_cluster(nodes, tmp_path, request):
    """Starts clusters, which end with the test, with checkpoints in `tmp_path`."""

    def start(**options):
        defaults = {"checkpoint_root": tmp_path, "checkpoint_interval": None}
        cluster = ptf.ray.Cluster(**{**defaults, "worker_timeout": 100.0, **options})
        request.addfinalizer(cluster.stop)
        return cluster.start()

    return start


@pytest.fixture(autouse=True)
def no_cluster_of_the_environment(monkeypatch):
    monkeypatch.delenv("PERSIA_PS", raising=False)
    monkeypatch.delenv("PERSIA_AUTH_TOKEN_FILE", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)
