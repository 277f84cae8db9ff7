"""Serving: models for programs that know TensorFlow, and nothing of shards."""

from persia_tf.serving.exporting import Export, export
from persia_tf.serving.manifest import ExportedTable

__all__ = ["Export", "ExportedTable", "export"]
