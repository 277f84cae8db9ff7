"""Fixtures: Ray with several nodes on this machine, and clusters on it."""

from __future__ import annotations

import os

import pytest

import persia_tf as ptf

# Read as Ray is imported, and inherited by its processes: Ray uses loopback, does not
# report its use, and does not end processes if other programs fill the memory.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_memory_monitor_refresh_ms"] = "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

LOOPBACK = {"node_ip_address": "127.0.0.1"}
# So Ray takes a node for dead after two seconds without an answer.
HEALTH_CHECKS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}


class Nodes:
    """Three nodes of Ray on this machine, the first of which has the driver."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        head = {"include_dashboard": False, "_system_config": HEALTH_CHECKS}
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 4, **head, **LOOPBACK}
        )
        self._others = [self._add(), self._add()]
        self.address = self._cluster.address

    def kill_one_with(self, actors):
        """Kills a node that has one of the actors, and adds another node."""
        used = {self._node_of(actor) for actor in actors}
        node = next(each for each in self._others if each.node_id in used)
        self._cluster.remove_node(node, allow_graceful=False)
        self._others.remove(node)
        self._others.append(self._add())

    def stop(self):
        self._cluster.shutdown()

    @staticmethod
    def _node_of(actor):
        import ray

        return ray._private.state.actors(actor._actor_id.hex())["Address"]["NodeID"]

    def _add(self):
        return self._cluster.add_node(num_cpus=2, **LOOPBACK)


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
        options = {"checkpoint_root": tmp_path, "checkpoint_interval": None, **options}
        cluster = ptf.ray.Cluster(**options)
        request.addfinalizer(cluster.stop)
        return cluster.start()

    return start


@pytest.fixture(autouse=True)
def no_cluster_of_the_environment(monkeypatch):
    monkeypatch.delenv("PERSIA_PS", raising=False)
    monkeypatch.delenv("PERSIA_AUTH_TOKEN_FILE", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)
