"""Shards and embedding workers as actors of a Ray cluster: see docs/ray.md.

Needs `pip install 'persia_tf[ray]'`. Ray is imported when a name of this module is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from persia_tf import errors

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
    _check_library()
    return getattr(importlib.import_module(_ATTRIBUTES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _check_library() -> None:
    """Raises FailedPreconditionError if Ray is not installed."""
    try:
        importlib.import_module("ray")
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"ptf.ray needs a library that is not installed ({error}): "
            "`pip install 'persia_tf[ray]'` installs it"
        ) from error
