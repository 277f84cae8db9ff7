"""Datasets of events that arrive, from which a later program can go on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from persia_tf.base import checks
from persia_tf.data import arguments
from persia_tf.data.reading.batches import SampleBatches
from persia_tf.data.reading.kafka.bad_events import BadEvents
from persia_tf.data.reading.kafka.client import KafkaClient
from persia_tf.data.reading.kafka.json_events import JsonEvents
from persia_tf.data.reading.kafka.samples import KafkaSamples, Stream
from persia_tf.data.reading.kafka.sorting import KafkaStatistics
from persia_tf.data.reading.source import Source
from persia_tf.data.reading.tensors import Columns

__all__ = ["KafkaStatistics", "kafka", "kafka_statistics"]


def kafka(
    topics: str | Sequence[str],
    brokers: str | Sequence[str],
    batch_size: int,
    *,
    columns: Mapping[str, Any],
    label: str | None = None,
    fill: Mapping[str, Any] | None = None,
    start: str = "beginning",
    until_end: bool = False,
    max_wait: float | None = None,
    late_after: float | None = None,
    bad_events: str | os.PathLike[str] | None = None,
    removed: str = "error",
    group: str | None = None,
    shard: tuple[int, int] | tf.distribute.Strategy | None = None,
    timeout: float = 60.0,
    config: Mapping[str, Any] | None = None,
) -> tf.data.Dataset:
    """Reads events from Kafka, each of which is a JSON object.

    `ptf.callbacks.JobCheckpoint` saves the offsets that were trained, with the rows and
    weights of the same step, and a job that goes on reads each partition from there on:
    each event is trained once. Partitions are not shared by a consumer group: a program
    reads all of them, or those of its `shard`.

    The dataset is one endless epoch: pass `steps_per_epoch` to `fit`.

    An event that is not of the columns is malformed, and one may be too late. Neither
    ends training: they are counted, logged and written to the file `bad_events`.

    Example:

    ```python
    train = ptf.data.kafka(
        "clicks", "kafka-1:9092,kafka-2:9092", batch_size=4096,
        columns={"user": "int64", "item": "int64", "clicked": "float32"},
        label="clicked", max_wait=0.5, bad_events="bad.jsonl",
    )
    job = ptf.callbacks.JobCheckpoint("run1", data=train, save_freq=1000)
    job.restore(model)
    model.fit(ptf.data.prefetch(train, model), steps_per_epoch=1000, epochs=1_000_000,
              initial_epoch=job.epoch, callbacks=[job])
    ```

    Args:
        topics: A topic, or a sequence of topics whose events have the same columns.
        brokers: "host:port" of one or more brokers; separated by commas if it is a str.
        batch_size: The rows of a batch.
        columns: By column, a type of pyarrow, or its name, such as `"int64"`,
            `"float32"` or `"string"`. Columns of lists, such as
            `pa.list_(pa.int64())`, become ragged tensors. Other members of the objects
            are ignored.
        label: The column of the labels. Defaults to None: batches have no labels.
        fill: By column, the value of events that have none, or null. Without it, such
            an event is malformed. Defaults to None: no column may lack values.
        start: `"beginning"` or `"end"` of the partitions, for a job that has no
            checkpoint. Both are found out now, not when training begins. Defaults to
            `"beginning"`.
        until_end: Whether an epoch ends with the events that there are now. The events
            of all partitions are then merged by their timestamps, so that batches are
            the same each time. Defaults to `False`.
        max_wait: After how many seconds a batch is handed out with fewer rows, counted
            from its first event. Defaults to None: never.
        late_after: How many seconds an event may be older than the newest event before
            it in its partition, by their timestamps. Defaults to None: any.
        bad_events: A file on this machine, of no other program, for events that are
            malformed or late. Defaults to None: they are counted and logged only.
        removed: What to do if Kafka has removed events before they were read:
            `"error"`, or `"skip"` to go on with the oldest that is left. Defaults to
            `"error"`.
        group: The consumer group for which offsets are committed once a checkpoint that
            has them is complete, so that Kafka's tools show how far training is.
            Defaults to None: nothing is committed.
        shard: Of several programs that train together, the number of this one, and how
            many there are, or the strategy of several workers: each reads other
            partitions. Defaults to None: this program reads all.
        timeout: For how many seconds brokers may be away. Defaults to `60.0`.
        config: More settings of librdkafka, such as `{"security.protocol": "SSL"}`.
            Defaults to None.

    Returns:
        A `tf.data.Dataset` of dicts of tensors by column, `(batch_size,)`; or of pairs
        of such a dict, without the label, and the labels.

    Raises:
        FailedPreconditionError: if confluent-kafka or pyarrow is not installed (the
            extra `kafka`).
        NotFoundError: if there is no such topic.
        UnavailableError: if no broker answers.
        InvalidArgumentError: if a column's type cannot be read, or there are fewer
            partitions than programs.
        OSError: if `bad_events` cannot be written.
        TypeError: if an argument is of another type.
        ValueError: if an argument is out of its range.
    """
    checks.instance("columns", columns, Mapping, "a dict with a type for each column")
    arguments.check_label(label, columns)
    checks.one_of("start", start, ("beginning", "end"))
    checks.one_of("removed", removed, ("error", "skip"))
    own, count = arguments.shard_of(shard)
    stream = Stream(
        topics=_names("topics", topics),
        batch_size=checks.integer("batch_size", batch_size, 1, arguments.MOST),
        start=start,
        until_end=until_end,
        max_wait=None if max_wait is None else checks.positive("max_wait", max_wait),
        late_after=None
        if late_after is None
        else checks.within("late_after", late_after, 0.0, checks.MOST_SECONDS),
        skips_removed=removed == "skip",
        shard=own,
        shards=count,
    )
    client = KafkaClient(
        ",".join(_names("brokers", brokers)),
        checks.positive("timeout", timeout),
        group,
        config or {},
    )
    events = JsonEvents(columns, fill or {})
    samples = KafkaSamples(client, stream, events, BadEvents(bad_events))

    def finished(tensors: Mapping[str, Any]) -> Any:
        return arguments.with_labels(tensors, label)

    return Source(SampleBatches(samples, Columns(events.schema), finished)).dataset()


def kafka_statistics(dataset: tf.data.Dataset) -> KafkaStatistics:
    """Returns how many events were good, malformed, late or removed.

    They are those that the iteration that began last has read. It is ahead of training
    by the batches that were prefetched.

    Example:

    ```python
    train = ptf.data.kafka("clicks", "kafka-1:9092", 4096, columns={"user": "int64"})
    model.fit(train, steps_per_epoch=1000)
    print(ptf.data.kafka_statistics(train).malformed)
    ```

    Args:
        dataset: What `ptf.data.kafka` returned.

    Returns:
        A named tuple with `good`, `malformed`, `late` and `removed`.

    Raises:
        TypeError: if `dataset` is another one.
    """
    source = getattr(dataset, "persia_source", None)
    samples = getattr(getattr(source, "batches", None), "samples", None)
    if not isinstance(samples, KafkaSamples):
        raise TypeError(
            "`dataset` must be the one that `ptf.data.kafka` returned, before any "
            f"`map` or other stage. Received: dataset={dataset!r}"
        )
    return samples.statistics


def _names(name: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(each, str) and each for each in names):
        raise TypeError(
            f"`{name}` must be a str, or a sequence of strs, none of which is empty. "
            f"Received: {name}={value!r}"
        )
    return tuple(dict.fromkeys(names))
