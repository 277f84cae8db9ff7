"""Serving: models for programs that know TensorFlow, and nothing of training."""

from persia_tf.serving.exporting import Export, export
from persia_tf.serving.manifest import ExportedCluster, ExportedTable
from persia_tf.serving.remote import (
    Remote,
    RemoteStats,
    load_ops,
    op_library,
    remote_stats,
)

__all__ = [
    "Export",
    "ExportedCluster",
    "ExportedTable",
    "Remote",
    "RemoteStats",
    "export",
    "load_ops",
    "op_library",
    "remote_stats",
]
