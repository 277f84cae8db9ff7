"""Input pipelines: samples from files and Kafka, and lookups before their steps."""

from persia_tf.data.prefetch import prefetch
from persia_tf.data.readers import criteo, csv, parquet, tfrecord
from persia_tf.data.service import service
from persia_tf.data.streams import KafkaStatistics, kafka, kafka_statistics

__all__ = [
    "KafkaStatistics",
    "criteo",
    "csv",
    "kafka",
    "kafka_statistics",
    "parquet",
    "prefetch",
    "service",
    "tfrecord",
]
