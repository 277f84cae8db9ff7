"""Serving: exports models as SavedModels, and keeps loaded exports up to date."""

from persia_tf.serving.export_manifest import ExportedCluster, ExportedTable
from persia_tf.serving.exporting import Export, export
from persia_tf.serving.follower import Follower, FollowerStatus
from persia_tf.serving.kept_rows import KeepRows
from persia_tf.serving.remote_clients import RemoteStats, remote_stats
from persia_tf.serving.remote_options import Remote, load_ops, op_library
from persia_tf.serving.shard_reader import ShardProgress

__all__ = [
    "Export",
    "ExportedCluster",
    "ExportedTable",
    "Follower",
    "FollowerStatus",
    "KeepRows",
    "Remote",
    "RemoteStats",
    "ShardProgress",
    "export",
    "load_ops",
    "op_library",
    "remote_stats",
]
