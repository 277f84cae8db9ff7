"""persia_tf: embedding tables beyond a worker's memory, for Keras.

The names below are imported on first use, so that the commands (`persia ps`,
`persia status`, `persia launch`) never import TensorFlow. If the program itself imports
Keras or TensorFlow, the layers are registered with Keras, so that Keras can load saved
models.
"""

import importlib
from typing import TYPE_CHECKING, Any

from persia_tf._registration import register_with_keras
from persia_tf._version import __version__

if TYPE_CHECKING:
    from persia_tf import (
        admission,
        callbacks,
        checkpoint,
        compression,
        data,
        distribute,
        errors,
        eviction,
        following,
        layers,
        model_server,
        optimizers,
        parallel,
        ray,
        serving,
    )
    from persia_tf.client.embedded import reset
    from persia_tf.cluster import Cluster, flush
    from persia_tf.conversion import convert
    from persia_tf.credentials.tls import TLS
    from persia_tf.current_cluster import use_cluster
    from persia_tf.layers.table_config import TableConfig
    from persia_tf.local_shards import local_cluster
    from persia_tf.planning.plan import Plan
    from persia_tf.planning.planner import plan
    from persia_tf.saving.contexts import rows_stay
    from persia_tf.table import Table
    from persia_tf.telemetry import metrics

_MODULES = (
    "admission",
    "callbacks",
    "checkpoint",
    "compression",
    "data",
    "distribute",
    "errors",
    "eviction",
    "following",
    "layers",
    "model_server",
    "optimizers",
    "parallel",
    "ray",
    "serving",
)
_ATTRIBUTES = {
    "Cluster": "persia_tf.cluster",
    "Plan": "persia_tf.planning.plan",
    "TLS": "persia_tf.credentials.tls",
    "Table": "persia_tf.table",
    "TableConfig": "persia_tf.layers.table_config",
    "convert": "persia_tf.conversion",
    "flush": "persia_tf.cluster",
    "local_cluster": "persia_tf.local_shards",
    "metrics": "persia_tf.telemetry",
    "plan": "persia_tf.planning.planner",
    "reset": "persia_tf.client.embedded",
    "rows_stay": "persia_tf.layers",
    "use_cluster": "persia_tf.layers",
}

__all__ = [
    "Cluster",
    "Plan",
    "TLS",
    "Table",
    "TableConfig",
    "__version__",
    "admission",
    "callbacks",
    "checkpoint",
    "compression",
    "convert",
    "data",
    "distribute",
    "errors",
    "eviction",
    "flush",
    "following",
    "layers",
    "local_cluster",
    "metrics",
    "model_server",
    "optimizers",
    "parallel",
    "plan",
    "ray",
    "reset",
    "rows_stay",
    "serving",
    "use_cluster",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"persia_tf.{name}")
    if name in _ATTRIBUTES:
        return getattr(importlib.import_module(_ATTRIBUTES[name]), name)
    raise AttributeError(f"module 'persia_tf' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


register_with_keras()
