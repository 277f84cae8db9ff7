"""Input pipelines: files of samples, and lookups before the steps that need them."""

from persia_tf.data.prefetch import prefetch
from persia_tf.data.readers import criteo, csv, parquet, tfrecord
from persia_tf.data.service import service

__all__ = ["criteo", "csv", "parquet", "prefetch", "service", "tfrecord"]
