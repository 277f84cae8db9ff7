"""Keras callbacks that save, restore and measure the rows of embedding tables."""

from persia_tf.callbacks.chief_alone import BackupAndRestore, ModelCheckpoint
from persia_tf.callbacks.early_stopping import EarlyStopping
from persia_tf.callbacks.job_checkpoint import JobCheckpoint
from persia_tf.callbacks.lookup_metrics import LookupMetrics
from persia_tf.callbacks.metrics_server import MetricsServer
from persia_tf.callbacks.table_checkpoint import TableCheckpoint

__all__ = [
    "BackupAndRestore",
    "EarlyStopping",
    "JobCheckpoint",
    "LookupMetrics",
    "MetricsServer",
    "ModelCheckpoint",
    "TableCheckpoint",
]
