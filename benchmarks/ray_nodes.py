"""Ray with several nodes on this machine, for a benchmark or tests.

Import it before Ray: it sets environment variables that Ray reads as it is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

# Inherited by Ray's processes: Ray uses loopback, does not report its use, and does not
# end processes if other programs fill the memory.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_memory_monitor_refresh_ms"] = "0"

# With these, Ray takes a node for dead that has not answered for about 3 seconds.
HEALTH_CHECKS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}

_LOOPBACK = {"node_ip_address": "127.0.0.1"}


class Nodes:
    """Three nodes of Ray on this machine, the first of which has the driver.

    Args:
        health_checks: Ray's settings for the detection of dead nodes; empty for its
            defaults.

    Attributes:
        address: The address for `ray.init`.
    """

    def __init__(self, health_checks: Mapping[str, int] = HEALTH_CHECKS) -> None:
        from ray.cluster_utils import Cluster

        head = {"include_dashboard": False, "_system_config": dict(health_checks)}
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 4, **head, **_LOOPBACK}
        )
        self._others = [self._add(), self._add()]
        self.address = self._cluster.address

    def kill_one_with(self, actors: Sequence[Any]) -> None:
        """Kills a node, but not the first one, that has one of the actors."""
        used = {node_of(actor) for actor in actors}
        node = next(each for each in self._others if each.node_id in used)
        self._cluster.remove_node(node, allow_graceful=False)
        self._others.remove(node)

    def complete(self) -> None:
        """Adds a node for each node that was killed."""
        while len(self._others) < 2:
            self._others.append(self._add())

    def stop(self) -> None:
        """Ends all processes of Ray."""
        self._cluster.shutdown()

    def _add(self) -> Any:
        return self._cluster.add_node(num_cpus=2, **_LOOPBACK)


def node_of(actor: Any) -> str:
    """Returns the id of the node on which an actor is."""
    import ray

    return ray._private.state.actors(actor._actor_id.hex())["Address"]["NodeID"]
