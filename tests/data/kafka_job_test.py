"""A job that trains on events, is killed and goes on: as one that never was."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from harness import same_path

import persia_tf as ptf
from persia_tf._keras import keras

pytest.importorskip("pyarrow")
pytest.importorskip("confluent_kafka")

from mock_kafka import MockKafka  # noqa: E402

from persia_tf.data.reading.kafka.client import KafkaClient  # noqa: E402

ROWS = 1200
# Of each partition, this event is malformed.
BAD = 77

JOB = """
import os, signal, sys
import numpy as np
import counted_job
import persia_tf as ptf
from persia_tf._keras import keras

broker, root, addresses, kill_at, start, steps = sys.argv[1:]
counted_job.seed(1)
cluster = ptf.Cluster(addresses.split(","), staleness=0, timeout=20)
model = counted_job.make_model(cluster)
read = ptf.data.kafka(
    "clicks", broker, 32, columns={"id": "int64", "y": "float32"}, label="y",
    start=start, until_end=start == "beginning", max_wait=None, group="job",
    bad_events=f"{root}/bad.jsonl", timeout=30,
)
if start == "end":
    print("ready", flush=True)
    sys.stdin.readline()
job = ptf.callbacks.JobCheckpoint(
    f"{root}/job", data=read, cluster=cluster, save_freq=10
)
job.restore(model)


class Killer(keras.callbacks.Callback):
    steps = 0

    def on_train_batch_end(self, batch, logs=None):
        Killer.steps += 1
        if Killer.steps == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)


train = read.map(counted_job.doubled)
model.fit(
    ptf.data.prefetch(train, model, staleness=0), epochs=1, initial_epoch=job.epoch,
    steps_per_epoch=int(steps) or None, callbacks=[job, Killer()], verbose=0,
)
np.savez(f"{root}/end.npz", **counted_job.state_of(model, cluster))
"""


@pytest.fixture
def kafka():
    with MockKafka({"clicks": 3}) as running:
        yield running


def fill(kafka, rows=ROWS):
    random = np.random.default_rng(0)
    for number in range(rows):
        event = {"id": int(random.integers(200)), "y": float(random.random())}
        value = json.dumps(event).encode() if number // 3 != BAD else b"{"
        kafka.produce("clicks", number % 3, [value], 1_000_000 + number)


@pytest.fixture
def start_job(kafka, start_shards, tmp_path):
    """Starts a job; a killed one goes on if it has the same name."""
    shards = {}
    running = []

    def start(name, kill_at, start="beginning", steps=0):
        root = tmp_path / name
        if name not in shards:
            root.mkdir()
            shards[name] = start_shards(2, checkpoint_root=str(root))
        addresses = ",".join(shard.address for shard in shards[name])
        command = [sys.executable, "-c", JOB, kafka.address, str(root), addresses]
        command += [str(kill_at), start, str(steps)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, env=same_path(), stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def end(process, kill_at):
    errors = process.communicate(timeout=300)[1]
    expected = -signal.SIGKILL if kill_at else 0
    assert process.returncode == expected, errors


def result(folder):
    with np.load(folder / "end.npz") as file:
        return dict(file)


@pytest.mark.slow
def test_a_killed_job_ends_with_the_same_bits(start_job, kafka, tmp_path):
    fill(kafka)
    for name, kills in (("undisturbed", []), ("killed", [3, 15])):
        for kill_at in (*kills, 0):
            end(start_job(name, kill_at), kill_at)
    undisturbed, killed = (result(tmp_path / n) for n in ("undisturbed", "killed"))
    assert undisturbed.keys() == killed.keys()
    for name, value in undisturbed.items():
        assert value.tobytes() == killed[name].tobytes(), name
    # Each event was trained once, and those that are malformed were kept once.
    assert undisturbed["counts"][:, 1].sum() == ROWS - 3
    for name in ("undisturbed", "killed"):
        lines = (tmp_path / name / "bad.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        assert [(each["partition"], each["offset"]) for each in found] == [
            *((0, BAD), (1, BAD), (2, BAD))
        ]
    # The last checkpoint is that of step 30.
    assert sum(kafka.committed("job", "clicks", 3)) == 30 * 32 + 3


def test_a_job_that_is_killed_before_its_first_save_keeps_its_place(
    start_job, kafka, tmp_path
):
    fill(kafka, 60)
    for kill_at in (5, 0):
        process = start_job("job", kill_at, start="end", steps=20)
        assert process.stdout.readline() == "ready\n"
        if kill_at:  # After the reader was made, and before the first save.
            fill(kafka, 640 + 3)
        end(process, kill_at)
    assert result(tmp_path / "job")["counts"][:, 1].sum() == 640


class Commits:
    """Records at each commit how many checkpoints were complete, and the offsets."""

    def __init__(self):
        self.made = []
        self.job = None
        self.commit = KafkaClient.commit

    def __call__(self, client, places):
        offsets = sum(place.offset for place in places)
        self.made.append((self.job.last_saved, offsets))
        self.commit(client, places)


def test_offsets_are_committed_once_their_checkpoint_is_complete(
    kafka, tmp_path, monkeypatch
):
    commits = Commits()
    monkeypatch.setattr(
        KafkaClient, "commit", lambda client, places: commits(client, places)
    )
    for partition in range(3):
        kafka.produce("clicks", partition, [b'{"id": 3, "y": 1}'] * 200)
    read = ptf.data.kafka(
        "clicks", kafka.address, 16, columns={"id": "int64", "y": "float32"},
        label="y", group="own",
    )  # fmt: skip
    ids = keras.Input((), dtype="int64", name="id")
    vectors = ptf.layers.PersiaEmbedding(2, table="of_commits")(ids)
    model = keras.Model({"id": ids}, keras.layers.Dense(1)(vectors))
    model.compile("sgd", "mse")
    commits.job = job = ptf.callbacks.JobCheckpoint(
        tmp_path / "job", data=read, save_freq=4
    )
    assert kafka.committed("own", "clicks", 3) == [-1001] * 3
    model.fit(
        ptf.data.prefetch(read, model), steps_per_epoch=10, verbose=0, callbacks=[job]
    )
    folders, offsets = zip(*commits.made)
    # Before the first step, after 4 steps and after 8; not what was read ahead.
    assert offsets == (0, 64, 128)
    assert len(set(folders)) == 3 and folders[-1] == job.last_saved
    assert sum(kafka.committed("own", "clicks", 3)) == 128


def test_a_commit_that_fails_does_not_end_training(kafka, caplog):
    kafka.produce("clicks", 0, [b'{"id": 3}'] * 16)
    read = ptf.data.kafka(
        "clicks", kafka.address, 16, columns={"id": "int64"}, group="own", timeout=0.3
    )
    next(iter(read))
    source = read.persia_source
    kafka.stop()
    source.saved(source.position_after(1))
    assert "were not committed for the group 'own'" in caplog.text
    kafka.start()
    source.saved(source.position_after(0))
    assert kafka.committed("own", "clicks", 1) == [16]
