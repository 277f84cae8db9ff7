"""Brokers that go away, and events that are gone: nothing is lost without a word."""

import json
import threading

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors

pytest.importorskip("pyarrow")
pytest.importorskip("confluent_kafka")

from mock_kafka import MockKafka  # noqa: E402

from persia_tf.data.reading.kafka import reader  # noqa: E402
from persia_tf.data.reading.kafka.client import KafkaClient  # noqa: E402

ROWS = 1600
# So little is read ahead that a broker is missed as soon as it is away.
LITTLE = {
    "fetch.message.max.bytes": 1000,
    "fetch.queue.backoff.ms": 1,
    "fetch.wait.max.ms": 10,
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1,
}


@pytest.fixture
def kafka():
    with MockKafka({"clicks": 2}) as running:
        yield running


def fill(kafka, rows=ROWS):
    for partition in range(2):
        numbers = range(partition, rows, 2)
        # Each message set is small, so that a fetch returns a few of them only.
        for first in range(0, len(numbers), 50):
            values = [json.dumps({"id": i}).encode() for i in numbers[first:][:50]]
            kafka.produce("clicks", partition, values)


def read(kafka, **options):
    options.setdefault("timeout", 20)
    return ptf.data.kafka(
        "clicks", kafka.address, 16, columns={"id": "int64"}, **options
    )


def ids(batches):
    return np.concatenate([batch["id"].numpy() for batch in batches])


@pytest.mark.parametrize("until_end", [True, False])
def test_a_broker_that_is_cut_off_often_loses_and_doubles_nothing(kafka, until_end):
    fill(kafka)
    found = []
    for number, batch in enumerate(read(kafka, until_end=until_end, config=LITTLE)):
        found.append(batch)
        if number % 20 == 10:
            kafka.stop()
            kafka.start()
        if number == ROWS // 16 - 1:
            break
    assert sorted(ids(found)) == list(range(ROWS))


@pytest.fixture
def start_once_missed(kafka, monkeypatch):
    """Starts the broker once it was asked for something and did not answer."""
    missed = threading.Event()
    ask = KafkaClient.range

    def asked(*arguments):
        try:
            return ask(*arguments)
        except errors.UnavailableError:
            missed.set()
            kafka.start()
            raise

    monkeypatch.setattr(KafkaClient, "range", asked)
    return missed


@pytest.mark.parametrize("until_end", [True, False])
def test_a_broker_that_comes_back_is_read_on(
    kafka, start_once_missed, until_end, monkeypatch
):
    monkeypatch.setattr(reader, "_MOST_AT_ONCE", 50)
    monkeypatch.setattr(reader, "_MOST_WAITING", 100)
    monkeypatch.setattr(reader, "_QUIET_SECONDS", 0.2)
    fill(kafka)
    iterator = iter(read(kafka, until_end=until_end, config=LITTLE))
    found = [next(iterator)]
    kafka.stop()
    found += [next(iterator) for _ in range(ROWS // 16 - 1)]
    assert start_once_missed.is_set()
    assert sorted(ids(found)) == list(range(ROWS))


def test_a_broker_that_stays_away_is_named(kafka):
    fill(kafka)
    iterator = iter(read(kafka, config=LITTLE, timeout=2))
    next(iterator)
    kafka.stop()
    with pytest.raises(
        tf.errors.OpError,
        match=rf"partition [01] of topic 'clicks' cannot be read: the brokers "
        rf"{kafka.address} did not answer in 2 s .* goes on at its last checkpoint",
    ):
        for _ in range(ROWS):
            next(iterator)


def test_partitions_without_events_are_no_failure(kafka, monkeypatch):
    dataset = read(kafka, max_wait=0.01)
    client = dataset.persia_source.batches.samples._client
    client.timeout = 0.1  # For reading only: it is quiet for much longer.
    answers = []
    ask = client.range

    def answered(*arguments):
        answers.append(ask(*arguments))
        if len(answers) == 20:
            kafka.produce("clicks", 1, [b'{"id": 7}'])
        return answers[-1]

    monkeypatch.setattr(client, "range", answered)
    assert ids([next(iter(dataset))]) == [7]
    assert len(answers) >= 20


def test_a_broker_that_is_not_there_is_named():
    with MockKafka({}) as kafka:
        kafka.stop()
        with pytest.raises(
            errors.UnavailableError,
            match=f"topic 'clicks' cannot .*{kafka.address} did not answer in 0.5 s",
        ):
            read(kafka, timeout=0.5)


def test_a_topic_that_is_not_there_is_named():
    with MockKafka({}) as kafka:
        with pytest.raises(
            errors.NotFoundError, match=f"{kafka.address} have no topic 'clicks'"
        ):
            read(kafka)


def test_events_that_were_removed_are_named(kafka):
    fill(kafka, 200)
    dataset = read(kafka)
    kafka.remove_events("clicks", 1, 40)
    with pytest.raises(
        tf.errors.OpError,
        match=r"Kafka has no offset 0 of partition 1 of topic 'clicks': 40 events were "
        r"removed .* has offset 40. .* `removed='skip'`",
    ):
        for _ in dataset:
            pass


@pytest.mark.parametrize("until_end", [True, False])
def test_events_that_were_removed_can_be_skipped(kafka, until_end):
    fill(kafka, 200)
    dataset = read(kafka, removed="skip", until_end=until_end)
    kafka.remove_events("clicks", 1, 44)
    iterator = iter(dataset)
    found = ids([next(iterator) for _ in range(9)])
    expected = [i for i in range(200) if i % 2 == 0 or i >= 2 * 44]
    assert set(found) <= set(expected) and len(set(found)) == 144
    assert ptf.data.kafka_statistics(dataset).removed == 44


def test_all_events_of_a_partition_were_removed(kafka):
    fill(kafka, 200)
    dataset = read(kafka, removed="skip", until_end=True)
    kafka.remove_events("clicks", 1, 100)
    assert sorted(ids(dataset)) == list(range(0, 200, 2))


def test_a_topic_that_was_made_anew_is_named(kafka):
    fill(kafka, 200)
    dataset = read(kafka)
    position = [0, [["clicks", 0, 100], ["clicks", 1, 1234]]]
    dataset.persia_source.seek(position)
    with pytest.raises(
        tf.errors.OpError,
        match="no offset 1234 of partition 1 of topic 'clicks': its events end before "
        "offset 100, so the topic was made anew",
    ):
        next(iter(dataset))
