"""librdkafka's mock cluster, whose broker can be stopped and started again.

    with MockKafka({"clicks": 2}) as kafka:
        kafka.produce("clicks", 0, [b"{}"])
        kafka.stop()
        kafka.start()

The events stay while the broker is stopped. confluent_kafka has no functions for this,
but the library that it loads has them.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka

_PRODUCER = 0
_BROKER = 1
_SECONDS = 30


class MockKafka:
    """A broker on a free port of loopback, until the `with` block ends.

    Args:
        topics: By name, how many partitions a topic has.

    Attributes:
        address: The "host:port" of the broker.
    """

    def __init__(self, topics: Mapping[str, int]) -> None:
        self._library = library = _library()
        text = ctypes.create_string_buffer(512)
        settings = library.rd_kafka_conf_new()
        library.rd_kafka_conf_set(settings, b"log_level", b"2", text, len(text))
        self._client = library.rd_kafka_new(_PRODUCER, settings, text, len(text))
        assert self._client, text.value
        self._cluster = library.rd_kafka_mock_cluster_new(self._client, 1)
        found = library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        self.address = found.decode().split(",")[0]
        for topic, partitions in topics.items():
            self.create(topic, partitions)
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.address, "linger.ms": 0, "log_level": 2}
        )

    def __enter__(self) -> MockKafka:
        return self

    def __exit__(self, *_: object) -> None:
        del self._producer
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)

    def create(self, topic: str, partitions: int) -> None:
        """Creates a topic."""
        self._check(
            self._library.rd_kafka_mock_topic_create(
                self._cluster, topic.encode(), partitions, 1
            )
        )

    def stop(self) -> None:
        """Cuts all connections, and refuses new ones."""
        self._check(self._library.rd_kafka_mock_broker_set_down(self._cluster, _BROKER))

    def start(self) -> None:
        """Accepts connections again."""
        self._check(self._library.rd_kafka_mock_broker_set_up(self._cluster, _BROKER))

    def remove_events(self, topic: str, partition: int, before: int) -> None:
        """Removes the events of a partition before an offset, as retention does."""
        self._check(
            self._library.rd_kafka_mock_partition_delete_records(
                self._cluster, topic.encode(), partition, ctypes.c_int64(before)
            )
        )

    def produce(
        self,
        topic: str,
        partition: int,
        values: Iterable[bytes | None],
        timestamp: int = 0,
    ) -> None:
        """Adds events to a partition, and waits until they are there.

        Args:
            topic: The topic.
            partition: The partition's number.
            values: The events.
            timestamp: Their timestamp in milliseconds; 0 for now.
        """
        failures: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(error)

        for value in values:
            self._producer.produce(
                topic,
                value=value,
                partition=partition,
                timestamp=timestamp,
                on_delivery=delivered,
            )
            self._producer.poll(0)
        assert self._producer.flush(_SECONDS) == 0
        assert not failures, failures[0]

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        """Returns the offsets that a group has committed; -1001 for none."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.address, "group.id": group}
        )
        asked = [
            confluent_kafka.TopicPartition(topic, number)
            for number in range(partitions)
        ]
        try:
            return [each.offset for each in consumer.committed(asked, _SECONDS)]
        finally:
            consumer.close()

    @staticmethod
    def _check(error: int) -> None:
        assert error == 0, f"librdkafka's error {error}"


def _library() -> ctypes.CDLL:
    """Returns the librdkafka that confluent_kafka has loaded."""
    [path] = set(
        re.findall(r"(/\S*librdkafka\S*)", Path("/proc/self/maps").read_text())
    )
    library = ctypes.CDLL(path)
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("conf_new", pointer, []),
        ("conf_set", number, [pointer, text, text, text, ctypes.c_size_t]),
        ("new", pointer, [number, pointer, text, ctypes.c_size_t]),
        ("destroy", None, [pointer]),
        ("mock_cluster_new", pointer, [pointer, number]),
        ("mock_cluster_destroy", None, [pointer]),
        ("mock_cluster_bootstraps", text, [pointer]),
        ("mock_topic_create", number, [pointer, text, number, number]),
        ("mock_broker_set_down", number, [pointer, ctypes.c_int32]),
        ("mock_broker_set_up", number, [pointer, ctypes.c_int32]),
        (
            "mock_partition_delete_records",
            number,
            [pointer, text, ctypes.c_int32, ctypes.c_int64],
        ),
    ):
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library
