"""Events from Kafka: each one once, from any position on, and bad ones set aside."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors

pa = pytest.importorskip("pyarrow")
pytest.importorskip("confluent_kafka")

from mock_kafka import MockKafka  # noqa: E402

from persia_tf.data.reading.kafka import reader  # noqa: E402

COLUMNS = {"id": "int64", "y": "float32"}


@pytest.fixture
def kafka():
    with MockKafka({"clicks": 3}) as running:
        yield running


def events(ids):
    return [json.dumps({"id": i, "y": i / 8}).encode() for i in ids]


def fill(kafka, rows=100):
    """Adds events to each partition, with timestamps that interleave."""
    for partition in range(3):
        for number in range(rows):
            value = events([1000 * partition + number])
            kafka.produce("clicks", partition, value, 1_000_000 + 10 * number)


def read(kafka, batch_size=32, columns=COLUMNS, **options):
    options.setdefault("timeout", 20)
    return ptf.data.kafka(
        "clicks", kafka.address, batch_size, columns=columns, **options
    )


def ids(batches):
    found = [batch["id"].numpy() for batch in batches]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def ids_until(dataset, count):
    """The first `count` ids of a stream, and how many batches they came in."""
    found = []
    for batch in dataset:
        found.append(batch["id"].numpy())
        if sum(map(len, found)) >= count:
            return np.concatenate(found), len(found)


def offsets(position):
    return [place.offset for place in position.places]


def saved(position):
    """The values of a position after a checkpoint has held them."""
    return json.loads(json.dumps(list(position)))


def test_a_batch_is_a_dict_or_a_pair(kafka):
    lists = [f'{{"id": {i}, "y": 1, "s": "é", "l": {[i] * i}}}' for i in range(4)]
    kafka.produce("clicks", 0, [each.encode() for each in lists])
    columns = {**COLUMNS, "s": "string", "l": pa.list_(pa.int64())}
    dataset = read(kafka, 4, columns, label="y", until_end=True)
    [(features, labels)] = list(dataset)
    assert list(features) == ["id", "s", "l"] and labels.dtype == tf.float32
    assert features["l"].to_list() == [[], [1], [2, 2], [3, 3, 3]]
    assert features["s"].numpy().tolist() == ["é".encode()] * 4


def test_partitions_are_merged_in_the_same_order_each_time(kafka):
    fill(kafka)
    dataset = read(kafka, until_end=True)
    epochs = [list(dataset) for _ in range(2)]
    assert [len(each["id"]) for each in epochs[0]] == [32] * 9 + [12]
    expected = [1000 * p + number for number in range(100) for p in range(3)]
    for epoch in epochs:
        assert ids(epoch).tolist() == expected
    kafka.produce("clicks", 0, events([5]))  # After the end.
    assert ids(dataset).tolist() == expected
    assert len(ids(read(kafka, until_end=True))) == 301


def test_a_partition_that_waits_for_others_is_paused(kafka, monkeypatch):
    monkeypatch.setattr(reader, "_MOST_AT_ONCE", 20)
    monkeypatch.setattr(reader, "_MOST_WAITING", 40)
    for partition in range(3):
        rows = range(300 * partition, 300 * (partition + 1))
        kafka.produce("clicks", partition, events(rows), 9_000 - 1000 * partition)
    expected = [*range(600, 900), *range(300, 600), *range(300)]
    assert ids(read(kafka, until_end=True)).tolist() == expected


def test_an_empty_topic_ends_at_once(kafka):
    assert len(ids(read(kafka, until_end=True))) == 0


@pytest.mark.parametrize("batches", [0, 1, 5, 10])
def test_reading_goes_on_at_the_next_event(kafka, batches):
    fill(kafka)
    undisturbed = ids(read(kafka, until_end=True))
    begun = read(kafka, until_end=True)
    for _, _batch in zip(range(batches), begun):
        pass
    position = begun.persia_source.position_after(batches)
    kafka.produce("clicks", 1, events([7]))  # A job ends where it would have ended.
    resumed = read(kafka, until_end=True)
    if batches < 10:
        assert sum(offsets(position)) == 32 * batches
        resumed.persia_source.seek(saved(position))
        assert (ids(resumed) == undisturbed[32 * batches :]).all()
    else:
        assert position.epoch == 1 and sum(offsets(position)) == 0


def test_a_stream_hands_out_what_has_come(kafka):
    dataset = read(kafka, max_wait=0.01)
    source = dataset.persia_source
    iterator = iter(dataset)
    for number in range(3):
        kafka.produce("clicks", number, events([number]))
        assert ids([next(iterator)]).tolist() == [number]
        assert sum(offsets(source.position_after(1))) == number + 1
    kafka.produce("clicks", 0, events(range(100)))
    found, batches = ids_until(iterator, 100)
    assert found.tolist() == list(range(100))
    assert sum(offsets(source.position_after(batches))) == 103


def test_without_a_longest_wait_batches_are_full(kafka):
    kafka.produce("clicks", 0, events(range(40)))
    kafka.produce("clicks", 1, events(range(100, 140)))
    iterator = iter(read(kafka))
    batches = [next(iterator) for _ in range(2)]
    assert [len(each["id"]) for each in batches] == [32, 32]
    kafka.produce("clicks", 2, events(range(200, 216)))
    batches.append(next(iterator))
    expected = [*range(40), *range(100, 140), *range(200, 216)]
    assert sorted(ids(batches)) == expected


def client_threads():
    """How many threads of librdkafka this process has."""
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    return sum(name.startswith("rdk:") for name in names)


def test_an_iteration_that_is_left_ends_its_threads(kafka, wait_until):
    fill(kafka, 40)
    dataset = read(kafka)
    before = client_threads()
    for _ in range(2):
        iterator = iter(dataset.prefetch(100))  # It waits for more than there are.
        next(iterator)
        assert client_threads() > before
        del iterator
        wait_until(lambda: client_threads() <= before)


def test_programs_that_train_together_read_other_partitions(kafka):
    fill(kafka)
    found = [read(kafka, until_end=True, shard=(i, 2)) for i in range(2)]
    assert [len(ids(each)) for each in found] == [200, 100]
    with pytest.raises(errors.InvalidArgumentError, match="3 partitions.* 4 programs"):
        read(kafka, shard=(0, 4))
    with pytest.raises(ValueError, match="`shard` must be a pair"):
        read(kafka, shard=(0, 4, 1))
    position = found[0].persia_source.batches.begin(0)
    with pytest.raises(
        errors.InvalidArgumentError,
        match="offset 0 of partition 0 of topic 'clicks', which .* does not read",
    ):
        found[1].persia_source.seek(saved(position))
    with pytest.raises(errors.InvalidArgumentError, match="that it has told"):
        found[1].persia_source.seek([0, 3])


def test_topics_are_read_together_and_new_ones_from_their_beginning(kafka):
    fill(kafka, 10)
    position = read(kafka, start="end").persia_source.batches.begin(0)
    kafka.create("more", 1)
    kafka.produce("more", 0, events([5000]))
    both = ptf.data.kafka(
        ["clicks", "more"], [kafka.address], 8, columns=COLUMNS, until_end=True
    )
    assert len(ids(both)) == 31
    both.persia_source.seek(saved(position))
    assert ids(both).tolist() == [5000]


def test_the_end_is_where_it_was_when_the_reader_was_made(kafka):
    fill(kafka, 10)
    dataset = read(kafka, 8, start="end")
    kafka.produce("clicks", 1, events(range(50, 58)))
    assert ids([next(iter(dataset))]).tolist() == list(range(50, 58))
    begin = dataset.persia_source.batches.begin(0)
    assert offsets(begin) == [10, 10, 10]


def test_bad_events_are_kept_once_each(kafka, tmp_path):
    file = tmp_path / "bad.jsonl"
    values = events(range(100))
    values[5], values[40], values[41], values[95] = b"{", b'{"id": 1}', b"\xff", None
    kafka.produce("clicks", 1, values)

    def make():
        return read(kafka, 16, until_end=True, bad_events=file)

    def kept():
        return [json.loads(line) for line in file.read_text().splitlines()]

    good = [i for i in range(100) if i not in (5, 40, 41, 95)]
    dataset = make()
    for _ in range(2):
        assert ids(dataset).tolist() == good
        assert [(each["partition"], each["offset"]) for each in kept()] == [
            *((1, 5), (1, 40), (1, 41), (1, 95))
        ]
        counts = ptf.data.kafka_statistics(dataset)
        assert counts == (96, 4, 0, 0) and counts.malformed == 4
    texts = kept()
    assert {each["topic"] for each in texts} == {"clicks"}
    assert {each["reason"] for each in texts} == {"malformed"}
    assert "'y' has no value" in texts[1]["message"]
    assert [each.get("text", 0) for each in texts] == ["{", '{"id": 1}', 0, None]
    assert base64.b64decode(texts[2]["base64"]) == b"\xff"


def test_bad_events_are_neither_doubled_nor_lost_when_a_job_goes_on(kafka, tmp_path):
    file = tmp_path / "bad.jsonl"
    values = events(range(100))
    for offset in range(3, 100, 10):
        values[offset] = b"{"
    kafka.produce("clicks", 0, values)

    def make():
        return read(kafka, 9, until_end=True, bad_events=file)

    def kept():
        return [json.loads(line)["offset"] for line in file.read_text().splitlines()]

    position = None
    for batches in (0, 1, 3, 2):  # As a job that is killed again and again.
        dataset = make()
        if position is not None:
            dataset.persia_source.seek(saved(position))
        # It has read ahead of what it has trained.
        iterator = iter(dataset.prefetch(4))
        for _ in range(batches):
            next(iterator)
        position = dataset.persia_source.position_after(batches)
        del iterator
        with file.open("a") as torn:
            torn.write('{"topic": "cli')
    assert offsets(position)[0] == 60
    dataset = make()
    dataset.persia_source.seek(saved(position))
    iterator = iter(dataset)
    next(iterator)
    assert kept()[:7] == list(range(3, 70, 10))
    assert len(ids(iterator)) == 27
    assert kept() == list(range(3, 100, 10))


def test_a_reading_that_is_no_longer_wanted_adds_no_bad_events(tmp_path):
    from persia_tf.data.reading.kafka.bad_events import BadEvent, BadEvents

    file = tmp_path / "bad.jsonl"
    kept = BadEvents(file)
    event = BadEvent("clicks", 0, 7, 0, "malformed", "is bad", b"x")
    first = kept.begin([])
    first([event])
    second = kept.begin([])
    first([event])
    assert len(file.read_text().splitlines()) == 1
    second([event])
    assert len(file.read_text().splitlines()) == 2


def test_events_are_late_by_the_newest_one_before_them(kafka, tmp_path):
    file = tmp_path / "bad.jsonl"
    seconds = [100, 105, 95, 94, 120, 110, 109, 121]
    for number, second in enumerate(seconds):
        kafka.produce("clicks", 0, events([number]), 1000 * second)
    kafka.produce("clicks", 1, events([8]), 1000)  # Another partition's are its own.

    def make():
        return read(kafka, 2, until_end=True, late_after=10, bad_events=file)

    late = [3, 6]
    dataset = make()
    assert sorted(ids(dataset)) == [i for i in range(9) if i not in late]
    assert ptf.data.kafka_statistics(dataset).late == 2
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["offset"] for each in lines] == late
    assert {each["reason"] for each in lines} == {"late"}
    assert lines[0]["message"] == "is 11 s older than the newest event before it"
    begun = make()
    next(iter(begun))
    resumed = make()
    resumed.persia_source.seek(saved(begun.persia_source.position_after(1)))
    assert len(ids(resumed)) == 5
    assert ptf.data.kafka_statistics(resumed).late == 2


def test_arguments_that_do_not_fit(kafka, tmp_path):
    for options, message in (
        ({"label": "z"}, r"`label` must be .*'y'.*label='z'"),
        ({"start": "middle"}, "`start` must be one of"),
        ({"removed": "ignore"}, "`removed` must be one of"),
        ({"batch_size": 0}, "`batch_size` must be an integer from 1"),
        ({"max_wait": 0}, "`max_wait` must be a finite number above 0"),
        ({"late_after": -1}, "`late_after` must be a number from 0"),
        ({"timeout": 0}, "`timeout` must be a finite number above 0"),
        ({"config": {"group.id": "x"}}, "`config` must not have .*'group.id'"),
        ({"config": {"no.such": "x"}}, "`config` must .*librdkafka.*no.such"),
    ):
        with pytest.raises(ValueError, match=message):
            read(kafka, **options)
    with pytest.raises(TypeError, match="`columns` must be a dict"):
        read(kafka, columns=["id"])
    with pytest.raises(TypeError, match="`topics` must be a str, or a sequence"):
        ptf.data.kafka([], kafka.address, 8, columns=COLUMNS)
    with pytest.raises(OSError, match="none"):
        read(kafka, bad_events=tmp_path / "none" / "bad.jsonl")
    with pytest.raises(TypeError, match="`dataset` must be the one that"):
        ptf.data.kafka_statistics(tf.data.Dataset.range(3))
