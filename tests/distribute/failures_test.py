"""If a worker fails, the others end within a time-out, and say what failed."""

import signal

import programs
import pytest

from persia_tf._keras import IS_KERAS_3

COMMON = programs.preamble() + programs.MODEL

DYING = """
with strategy.scope():
    model = make_model()
    try:
        model.fit(batches(ids, labels), epochs=999, verbose=0, callbacks=[Fail()])
    except Exception as error:
        tell(error)
"""


@pytest.mark.parametrize("worker", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_worker_whose_peer_dies_names_it(worker, run_workers):
    ended = run_workers(COMMON + programs.failing(worker, "SIGKILL") + DYING)
    assert ended.pop(worker).status == -signal.SIGKILL
    [survivor] = ended
    result = survivor.result()
    assert f"{result['failed']}: it has ended" in result["raised"]


@pytest.mark.slow
def test_a_worker_whose_peer_hangs_names_it(run_workers):
    survivor, _ = run_workers(COMMON + programs.failing(1, "SIGSTOP") + DYING)
    result = survivor.result()
    assert f"{result['failed']}: it does not answer" in result["raised"]


# The second worker's connection to a shard is cut between the lookup and the push of a
# step, once both workers have traced and taken steps. That worker raises, and its
# process lives on: no heartbeat tells the other worker, which raises after this many
# seconds. Until the cut, workers meet before each collective, so that a worker that is
# slow to build or to trace does not count as failed.
TIMEOUT = 30
PUSHES_FAIL = """
import pathlib
import time
import tcp_proxy

shards = list(ptf.Cluster().shards)
if INDEX == 1:
    proxy = tcp_proxy.TcpProxy(shards[1]).__enter__()
    shards[1] = proxy.address
steps = 0


def meet(where):
    pathlib.Path(f"{where}-{INDEX}").touch()
    while not all(pathlib.Path(f"{where}-{index}").exists() for index in range(2)):
        time.sleep(0.1)


def end_the_way():
    global steps
    steps += 1
    if steps <= 3:
        meet(f"step{steps}")
    if INDEX == 1 and steps == 3:
        ptf.flush()
        proxy.__exit__()
    return np.float32(0)


class Between(keras.layers.Layer):
    def call(self, vectors):
        with tf.control_dependencies([vectors]):
            zero = tf.numpy_function(end_the_way, [], tf.float32)
        return vectors + tf.stop_gradient(tf.reshape(zero, ()))


class Meeting(keras.Model):
    def reset_metrics(self):  # After it was built, and then at each epoch's begin.
        if steps == 0:
            Meeting.resets = getattr(Meeting, "resets", 0) + 1
            meet(f"reset{Meeting.resets}")
        super().reset_metrics()


with strategy.scope():
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4, table="t", cluster=ptf.Cluster(shards, timeout=8, staleness=STALENESS)
    )(inputs)
    outputs = keras.layers.Dense(1)(keras.layers.Flatten()(Between()(vectors)))
    model = Meeting(inputs, outputs)
    model.compile("sgd", "mse")
    try:
        # Without an end, workers need not agree in each step on whether it came.
        data = batches(ids, labels, size=4).repeat()
        model.fit(data, steps_per_epoch=10_000, verbose=0)
    except Exception as error:
        say(raised=str(error), shard=shards[1])
        meet("raised")
        os._exit(0)  # No step goes on, and nothing is to be flushed.
"""


@pytest.mark.slow
@pytest.mark.parametrize("staleness", [0, 4])
def test_a_push_that_fails_on_one_worker_ends_all(staleness, run_workers):
    program = programs.preamble(timeout=TIMEOUT) + programs.MODEL
    program += PUSHES_FAIL.replace("STALENESS", str(staleness))
    other, failed = [ended.result() for ended in run_workers(program)]
    assert failed["shard"] in failed["raised"]
    assert "Collective" in other["raised"]
    assert "all answer" in other["raised"]


LEGACY = """
with strategy.scope():
    model = make_model(staleness=0)
    model.compile(keras.optimizers.legacy.SGD(), "mse")
try:
    model.fit(batches(ids, labels), verbose=0)
    say(raised="nothing")
except NotImplementedError as error:
    say(raised=str(error))
"""


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 has no such optimizers")
def test_a_legacy_optimizer_cannot_wait_for_all_workers(run_workers):
    for ended in run_workers(COMMON + LEGACY):
        raised = ended.result()["raised"]
        assert "tf_keras.optimizers.legacy" in raised


THREADS = """
threads = []


class CountThreads(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        threads.append(len(os.listdir("/proc/self/task")))


with strategy.scope():
    model = make_model()
    data = batches(ids, labels, size=2)
    model.fit(data, epochs=4, verbose=0, callbacks=[CountThreads()])
say(threads=threads)
"""


def test_steps_leave_no_threads_that_wait_for_a_timeout(run_workers):
    for ended in run_workers(COMMON + THREADS):
        first, *_, last = ended.result()["threads"]
        # Three epochs of 45 steps, each with several collective operations.
        assert last < first + 45
