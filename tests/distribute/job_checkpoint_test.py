"""A job of several workers that is killed and started again ends as one never killed.

No two workers have an id in the same step, so the order of their updates decides
nothing.
"""

import signal

import numpy as np
import programs
import pytest
from worker_processes import run_cluster

from persia_tf._keras import IS_KERAS_3

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 416  # Of 26 batches of 16.
EPOCHS = 3
# What a sample adds to its count: tf_keras divides losses of two workers by two, and
# Keras 3 only those that are not scalars.
OF_TWO = 1.0 if IS_KERAS_3 else 0.5
RAISED = 3  # The status of a worker that an error has ended.

JOB = """
import pathlib
import signal
import counted_job
from persia_tf.callbacks import local_values
from persia_tf.layers.workers import Workers

counted_job.seed(1)
np.random.seed(INDEX)
cluster = ptf.Cluster(staleness=0, timeout=20)


class Random(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        np.random.rand()


class Killer(keras.callbacks.Callback):
    steps = 0

    def on_train_batch_end(self, batch, logs=None):
        Killer.steps += 1
        if INDEX in KILLED and Killer.steps == KILL_AT:
            if SAVED and Killer.job._running is not None:
                Killer.job._running.wait()
            os.kill(os.getpid(), signal.SIGKILL)


def gathered(workers, contents):
    # The others wait for this worker's state.
    if INDEX in KILLED and KILL_AT == "save" and Killer.steps > 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return gather(workers, contents)


gather = Workers.gathered
Workers.gathered = gathered


def values(model):
    variables = model.optimizer.variables
    variables = variables() if callable(variables) else variables
    variables = [*model.weights, *variables]
    found = {f"{i}": local_values.value_of(model, v) for i, v in enumerate(variables)}
    return found | counted_job.rows_of(cluster)


def train():
    is_own = WAY == "own data"
    read = ptf.data.parquet(
        DATA, 16, label="y", shuffle_buffer=100, seed=5,
        shard=strategy if is_own else None,
    )
    # Whose averages differ by worker.
    averages = keras.layers.BatchNormalization()
    model = counted_job.make_model(cluster, [averages], metrics=[["mae"], []])
    job = ptf.callbacks.JobCheckpoint(
        "job", data=read, cluster=cluster, whole_every=3, save_freq=SAVE_FREQ
    )
    job.restore(model)
    Killer.job = job
    data = read.map(counted_job.doubled)
    if is_own:
        # tf_keras wants to know the steps, and data that does not end.
        own = data if IS_KERAS_3 else data.repeat()
        data = strategy.distribute_datasets_from_function(
            lambda context: ptf.data.prefetch(own, model, staleness=0)
        )
    history = model.fit(
        data, epochs=EPOCHS, initial_epoch=job.epoch, verbose=0,
        steps_per_epoch=None if IS_KERAS_3 or not is_own else len(read),
        callbacks=[job, Random(), Killer()],
    )
    found = values(model)
    found["random"] = np.random.get_state()[1]
    found["mae"] = np.array(history.history["head_mae"][-1])
    np.savez(f"end{INDEX}.npz", **found)


with strategy.scope():
    try:
        train()
    except Exception as error:
        print(repr(error), flush=True)
        os._exit(RAISED)  # TensorFlow would wait for a worker that was killed.
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    columns = {"id": rng.permutation(ROWS), "y": rng.random(ROWS, np.float32)}
    pq.write_table(pa.table(columns), folder / "0.parquet", row_group_size=40)
    return folder


@pytest.fixture
def run(data, start_shards, tmp_path):
    """Runs a job whose workers are killed at steps, or in a save, and started again.

    Gives how the workers of the last run ended.
    """

    def run(name, way, save_freq, kills, counts=(2,)):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        shards = start_shards(2, checkpoint_root=str(folder))
        addresses = [shard.address for shard in shards]
        for number, (killed, kill_at) in enumerate((*kills, ((), 0))):
            names = {"WAY": way, "SAVE_FREQ": save_freq, "KILLED": killed}
            names |= {"KILL_AT": kill_at, "DATA": str(data), "EPOCHS": EPOCHS}
            # What another number of workers does depends on what was saved.
            names |= {"RAISED": RAISED, "SAVED": len(counts) > 1}
            told = "".join(f"{key} = {value!r}\n" for key, value in names.items())
            program = programs.preamble(timeout=60) + told + JOB
            count = counts[min(number, len(counts) - 1)]
            ended = run_cluster(program, count, addresses, folder)
            for index, each in enumerate(ended if killed else ()):
                expected = -signal.SIGKILL if index in killed else RAISED
                assert each.status == expected, (each.output, each.errors)
        return ended

    return run


@pytest.fixture
def end_of(run, tmp_path):
    """Runs a job; gives what each of its two workers has at the end."""

    def end(name, *args):
        for each in run(name, *args):
            assert each.status == 0, (each.output, each.errors)
        ends = []
        for index in range(2):
            with np.load(tmp_path / name / f"end{index}.npz") as file:
                ends.append(dict(file))
        return ends

    return end


@pytest.mark.parametrize(
    ("way", "save_freq", "kills"),
    [
        pytest.param(
            "own data", 5, [((1,), 12), ((0,), "save")], marks=pytest.mark.slow
        ),
        pytest.param(
            "global batches", 5, [((1,), 29), ((0, 1), 13)], marks=pytest.mark.slow
        ),
        pytest.param("own data", "epoch", [((0, 1), 20)], marks=pytest.mark.slow),
    ],
)
def test_killed_workers_end_with_the_same_bits(end_of, way, save_freq, kills):
    undisturbed = end_of("undisturbed", way, save_freq, [])
    killed = end_of("killed", way, save_freq, kills)
    for expected, end in zip(undisturbed, killed):
        assert expected.keys() == end.keys()
        for name, value in expected.items():
            if name != "mae":
                assert value.tobytes() == end[name].tobytes(), name
        np.testing.assert_allclose(end["mae"], expected["mae"], rtol=1e-6)
    first, second = killed
    assert first["random"].tobytes() != second["random"].tobytes()
    # Each sample was trained once in each epoch.
    counts = first["counts"]
    assert counts[:, 0].tolist() == list(range(ROWS))
    assert set(counts[:, 1]) == {EPOCHS * OF_TWO}


def test_another_number_of_workers_goes_on_from_the_end_of_an_epoch(run, tmp_path):
    [ended] = run("killed", "own data", "epoch", [((0, 1), 20)], (2, 1))
    assert ended.status == 0, (ended.output, ended.errors)
    with np.load(tmp_path / "killed" / "end0.npz") as file:
        counts = file["counts"]
    # Once in the epoch of two workers, and in each of those of one.
    assert counts[:, 0].tolist() == list(range(ROWS))
    assert set(counts[:, 1]) == {OF_TWO + (EPOCHS - 1)}


@pytest.mark.slow
def test_another_number_of_workers_is_refused_within_an_epoch(run):
    [ended] = run("killed", "own data", 5, [((0, 1), 8)], (2, 1))
    assert ended.status == RAISED, ended.errors
    assert "start 2 workers; or save at the end of an epoch" in ended.output
    assert "a checkpoint of 2 workers from within epoch 0, and 1" in ended.output


SHARDED = """
read = ptf.data.parquet(DATA, 16, columns=["id"], shard=strategy)
found = []
for batch in strategy.experimental_distribute_dataset(read):
    for part in strategy.experimental_local_results(batch["id"]):
        found += part.numpy().tolist()
say(found=found)
"""


def test_fit_does_not_divide_a_worker_s_data_once_more(data, results_of):
    program = f"DATA = {str(data)!r}\n" + SHARDED
    workers = [each["found"] for each in results_of("2 workers", program)]
    assert sorted(sum(workers, [])) == list(range(ROWS))
