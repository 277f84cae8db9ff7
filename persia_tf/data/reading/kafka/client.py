"""Asks Kafka for topics and offsets, and tells what its errors mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from absl import logging

from persia_tf import errors
from persia_tf.data.reading.kafka.position import Place

# What the reader's promises rest on.
_FIXED = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
}
_OWN = ("bootstrap.servers", "error_cb", "group.id", *_FIXED)
# Kafka's clients need the name of a group even if they do not use it.
_NO_GROUP = "persia_tf"
# The longest pause before a broker that was away is tried again.
_BACKOFF_MS = 1000
# librdkafka logs each attempt to reach a broker; the reader says it in its own words.
_CRITICAL_ONLY = 2
_COMMIT_SECONDS = 5.0


def confluent() -> Any:
    """Returns the module confluent_kafka.

    Raises:
        FailedPreconditionError: if it is not installed.
    """
    try:
        import confluent_kafka
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"reading from Kafka needs confluent-kafka ({error}): run "
            "`pip install 'persia_tf[kafka]'`"
        ) from error
    return confluent_kafka


class KafkaClient:
    """Makes consumers, and asks brokers.

    Args:
        brokers: "host:port" of brokers, separated by commas.
        timeout: How many seconds brokers may not answer.
        group: The consumer group to commit offsets for, or None.
        config: More settings of librdkafka, such as those of TLS and SASL.

    Raises:
        FailedPreconditionError: if confluent-kafka is not installed.
        ValueError: if `config` has settings that are not allowed or do not exist.
    """

    def __init__(
        self, brokers: str, timeout: float, group: str | None, config: Mapping[str, Any]
    ) -> None:
        self.brokers = brokers
        self.timeout = timeout
        self._kafka = confluent()
        own = sorted(set(_OWN) & set(config))
        if own:
            raise ValueError(
                f"`config` must not have the settings {own}, which the reader sets or "
                f"which are arguments. Received: config with {sorted(config)}"
            )
        self._group = group
        self._last_error = "there was no answer"
        self._config = {
            "log_level": _CRITICAL_ONLY,
            "reconnect.backoff.max.ms": _BACKOFF_MS,
            "socket.timeout.ms": max(1000, min(60_000, int(timeout * 1000))),
            **config,
            **_FIXED,
            "bootstrap.servers": brokers,
            "group.id": _NO_GROUP if group is None else group,
            "error_cb": self._remember,
        }

    def consumer(self) -> Any:
        """Returns a new `confluent_kafka.Consumer`; close it after use.

        Raises:
            ValueError: if librdkafka does not accept the settings.
        """
        try:
            return self._kafka.Consumer(self._config)
        except self._kafka.KafkaException as error:
            raise ValueError(
                f"`config` must have settings that librdkafka accepts: "
                f"{error.args[0].str()}. Received: config with {sorted(self._config)}"
            ) from error

    def partitions(self, consumer: Any, topics: Sequence[str]) -> list[tuple[str, int]]:
        """Returns the topics' partitions, in their order.

        Raises:
            NotFoundError: if there is no such topic.
            UnavailableError: if no broker answers.
        """
        found = []
        for topic in topics:
            try:
                known = consumer.list_topics(topic, timeout=self.timeout)
            except self._kafka.KafkaException as error:
                raise self.unreachable(f"topic {topic!r}", error) from error
            metadata = known.topics[topic]
            if metadata.error is not None:
                raise self.refused(metadata.error, f"topic {topic!r}")
            found += [(topic, number) for number in sorted(metadata.partitions)]
        return found

    def range(
        self, consumer: Any, key: tuple[str, int], timeout: float | None = None
    ) -> tuple[int, int]:
        """Returns the first offset of a partition, and the one after the last.

        Raises:
            UnavailableError: if the broker does not answer.
        """
        timeout = self.timeout if timeout is None else timeout
        partition = self.at(*key)
        try:
            return consumer.get_watermark_offsets(partition, timeout=timeout)
        except self._kafka.KafkaException as error:
            place = Place(*key, 0)
            raise self.unreachable(str(place), error, timeout) from error

    def at(self, topic: str, partition: int, offset: int = 0) -> Any:
        """Returns a `confluent_kafka.TopicPartition`."""
        return self._kafka.TopicPartition(topic, partition, offset)

    def commit(self, places: Iterable[Place]) -> None:
        """Commits offsets for the group, if there is one; logs if that fails.

        Commits only tell others how far training is: a job goes on at its checkpoint.
        """
        if self._group is None:
            return
        offsets = [self.at(*place.key, place.offset) for place in places]
        consumer = self.consumer()
        try:
            # This fails in time if no broker answers; a commit would wait for long.
            consumer.committed(offsets, timeout=min(self.timeout, _COMMIT_SECONDS))
            consumer.commit(offsets=offsets, asynchronous=False)
        except self._kafka.KafkaException as error:
            logging.warning(
                "the offsets of a checkpoint were not committed for the group %r, so "
                "its lag is shown too large until the next checkpoint: %s",
                self._group,
                error.args[0].str(),
            )
        finally:
            consumer.close()

    def unreachable(
        self, what: str, error: Any, seconds: float | None = None
    ) -> errors.UnavailableError:
        """Returns the error for brokers that do not answer."""
        seconds = self.timeout if seconds is None else seconds
        return errors.UnavailableError(
            f"{what} cannot be read: the brokers {self.brokers} did not answer in "
            f"{seconds:g} s ({_text(error)}; before: {self._last_error}). See whether "
            "they run, and whether this machine reaches the addresses that they "
            "advertise; then start the job again: it goes on at its last checkpoint"
        )

    def refused(self, error: Any, what: str) -> errors.PersiaError:
        """Returns the error for what brokers do not give."""
        codes = self._kafka.KafkaError
        unknown = (
            codes.UNKNOWN_TOPIC_OR_PART,
            codes._UNKNOWN_TOPIC,
            codes._UNKNOWN_PARTITION,
        )
        if error.code() in unknown:
            return errors.NotFoundError(
                f"the brokers {self.brokers} have no {what}: create it, or correct "
                "`topics` or `brokers`"
            )
        denied = (
            codes.TOPIC_AUTHORIZATION_FAILED,
            codes.GROUP_AUTHORIZATION_FAILED,
            codes.CLUSTER_AUTHORIZATION_FAILED,
        )
        if error.code() in denied:
            return errors.PermissionDeniedError(
                f"the brokers {self.brokers} do not let this program read {what} "
                f"({error.str()}): allow its user to read it, or pass another user "
                "with `config`"
            )
        return errors.UnavailableError(f"{what} cannot be read: {error.str()}")

    def _remember(self, error: Any) -> None:
        self._last_error = error.str()


def _text(error: Any) -> str:
    return error.args[0].str() if error.args else str(error)
