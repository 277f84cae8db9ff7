"""Serving: models for programs that know TensorFlow, and nothing of shards."""

from persia_tf.serving.exporting import Export, export
from persia_tf.serving.kept_rows import KeepRows
from persia_tf.serving.manifest import ExportedTable

__all__ = ["Export", "ExportedTable", "KeepRows", "export"]
