"""Shards and embedding workers as actors of a Ray cluster: see docs/ray.md.

Needs `pip install 'persia_tf[ray]'`. Ray is imported when a name of this module is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from persia_tf.base import extras

if TYPE_CHECKING:
    from persia_tf.ray.cluster import Cluster
    from persia_tf.ray.connection import Connection
    from persia_tf.ray.losses import Loss

_ATTRIBUTES = {
    "Cluster": "persia_tf.ray.cluster",
    "Connection": "persia_tf.ray.connection",
    "Loss": "persia_tf.ray.losses",
}

__all__ = ["Cluster", "Connection", "Loss"]


def __getattr__(name: str) -> Any:
    if name not in _ATTRIBUTES:
        raise AttributeError(f"module 'persia_tf.ray' has no attribute '{name}'")
    extras.import_of("ray", "ptf.ray needs", "ray")
    return getattr(importlib.import_module(_ATTRIBUTES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
