"""Requests that are joined, requests that wait, and requests that are refused."""

import contextlib
import gc
import threading
import time
import weakref

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from persia_tf import errors
from persia_tf.model_server import batching
from persia_tf.model_server.batching import Gate, Runner
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.served_signature import Signature

SECONDS = 60


def tensor_info(dtype, *sizes):
    info = meta_graph_pb2.TensorInfo(name="tensor", dtype=dtype.as_datatype_enum)
    for size in sizes:
        info.tensor_shape.dim.add(size=-1 if size is None else size)
    return info


class HeldModel:
    """Doubles its input once a test releases it; records the sizes of its calls."""

    def __init__(self):
        self.sizes = []
        self._go_on = threading.Event()
        self.entered = threading.Semaphore(0)

    def __call__(self, x):
        self.sizes.append(len(x))
        self.entered.release()
        assert self._go_on.wait(SECONDS)
        if np.any(x < 0):
            raise tf.errors.InvalidArgumentError(None, None, "no negative ones")
        return {"y": 2 * x}

    def wait_until_called(self):
        assert self.entered.acquire(timeout=SECONDS)

    def let_go(self):
        self._go_on.set()


@pytest.fixture
def model():
    held = HeldModel()
    yield held
    held.let_go()


@pytest.fixture
def signature(model):
    return signature_of(model)


def signature_of(function):
    definition = meta_graph_pb2.SignatureDef()
    definition.inputs["x"].CopyFrom(tensor_info(tf.float32, None, None))
    definition.outputs["y"].CopyFrom(tensor_info(tf.float32, None, None))
    return Signature("serving_default", function, definition)


class Clock:
    """Replaces `time`: the time changes only when a test sets it."""

    now = 0.0

    def monotonic(self):
        return self.now


class Asking:
    """A request on a thread of its own."""

    def __init__(self, runner, signature, x, seconds=SECONDS, deadline=None):
        self.answer = None
        if deadline is None:
            deadline = time.monotonic() + seconds
        self._arguments = (signature, {"x": np.float32(x)}, deadline)
        self._runner = runner
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self):
        try:
            self.answer = self._runner.run(*self._arguments)["y"].ravel().tolist()
        except errors.PersiaError as error:
            self.answer = error

    def join(self):
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        return self.answer


@pytest.fixture
def ask():
    """Starts requests; waits for all of them with the test."""
    with contextlib.ExitStack() as stack:

        def start(*args, **options):
            asking = Asking(*args, **options)
            stack.callback(asking.join)
            return asking

        yield start


@pytest.fixture
def uncollected():
    """Turns garbage collection off, so that cycles of references stay in memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def failing(seen, x):
    seen.append(weakref.ref(x))
    raise errors.InvalidArgumentError("no such word")


@pytest.mark.usefixtures("uncollected")
def test_a_request_that_fails_leaves_nothing_in_memory(monkeypatch):
    seen = []
    monkeypatch.setattr(
        Signature, "run", lambda signature, arrays: failing(seen, arrays["x"])
    )
    runner = Runner(1, Metrics(), max_batch_size=8)
    arrays = {"x": np.ones((2, 1), np.float32)}
    with pytest.raises(errors.PersiaError) as refusal:
        runner.run(signature_of(None), arrays, time.monotonic() + SECONDS)
    assert refusal.value.code == 3
    del refusal, arrays
    assert seen and all(array() is None for array in seen)


def joined(runner):
    """The number of requests in batches that may still grow."""
    with runner._lock:
        return sum(len(batch.requests) for batch in runner._open.values())


def wait_for_joined(runner, count, eventually):
    eventually(lambda: joined(runner) == count, f"{count} requests in a batch")


def test_requests_that_wait_run_as_one(model, signature, ask, eventually):
    metrics = Metrics()
    runner = Runner(1, metrics, max_batch_size=8)
    first = ask(runner, signature, [[0]])
    model.wait_until_called()
    others = [ask(runner, signature, [[i], [i + 0.5]]) for i in range(1, 4)]
    wait_for_joined(runner, 3, eventually)
    model.let_go()
    assert first.join() == [0]
    assert [other.join() for other in others] == [[2, 3], [4, 5], [6, 7]]
    assert model.sizes == [1, 6]
    assert metrics.value("persia_serve_batch_requests_count") == 2


def test_a_batch_is_no_larger_than_its_limit(model, signature, ask, eventually):
    runner = Runner(1, Metrics(), max_batch_size=4)
    first = ask(runner, signature, [[0]])
    model.wait_until_called()
    full = [ask(runner, signature, [[1], [1]])]
    wait_for_joined(runner, 1, eventually)
    full.append(ask(runner, signature, [[2], [2]]))
    # It is full, so no request can join it any more.
    wait_for_joined(runner, 0, eventually)
    next_one = ask(runner, signature, [[3], [3], [3]])
    wait_for_joined(runner, 1, eventually)
    displaces = ask(runner, signature, [[4], [4]])
    eventually(
        lambda: [batch.examples for batch in list(runner._open.values())] == [2],
        "the batch that the last request opens",
    )
    model.let_go()
    answers = [each.join() for each in (first, *full, next_one, displaces)]
    assert answers == [[0], [2, 2], [4, 4], [6, 6, 6], [8, 8]]
    assert sorted(model.sizes) == [1, 2, 3, 4]


def test_requests_of_other_shapes_or_versions_are_not_joined(
    model, signature, ask, eventually
):
    runner = Runner(1, Metrics(), max_batch_size=8)
    first = ask(runner, signature, [[0]])
    model.wait_until_called()
    wide = ask(runner, signature, [[1, 2]])
    narrow = ask(runner, signature, [[3]])
    other = ask(runner, signature_of(model), [[4]])
    wait_for_joined(runner, 3, eventually)
    assert len(runner._open) == 3
    model.let_go()
    answers = [each.join() for each in (first, wide, narrow, other)]
    assert answers == [[0], [2, 4], [6], [8]]


def test_a_request_that_spoils_a_batch_fails_alone(model, signature, ask, eventually):
    runner = Runner(1, Metrics(), max_batch_size=8)
    first = ask(runner, signature, [[0]])
    model.wait_until_called()
    good = ask(runner, signature, [[1]])
    bad = ask(runner, signature, [[-1]])
    also_good = ask(runner, signature, [[2]])
    wait_for_joined(runner, 3, eventually)
    model.let_go()
    assert (first.join(), good.join(), also_good.join()) == ([0], [2], [4])
    assert isinstance(bad.join(), errors.InvalidArgumentError)
    assert "no negative ones" in str(bad.join())


def test_outputs_that_have_no_examples_of_their_own_are_not_shared(ask, eventually):
    held = HeldModel()

    def summed(x):
        return {"y": tf.reduce_sum(held(x)["y"], axis=0, keepdims=True)}

    signature = signature_of(summed)
    runner = Runner(1, Metrics(), max_batch_size=8)
    first = ask(runner, signature, [[0]])
    held.wait_until_called()
    others = [ask(runner, signature, [[i], [i]]) for i in (1, 2)]
    wait_for_joined(runner, 2, eventually)
    held.let_go()
    assert first.join() == [0]
    assert [other.join() for other in others] == [[4], [8]]


def test_a_full_batch_does_not_wait_for_its_time(model, signature, ask):
    model.let_go()
    runner = Runner(1, Metrics(), max_batch_size=2, batch_timeout=1e6)
    asking = [ask(runner, signature, [[i]]) for i in (1, 2)]
    assert [each.join() for each in asking] == [[2], [4]]
    assert model.sizes == [2]


def test_nothing_is_joined_unless_asked_for(model, signature, ask, eventually):
    runner = Runner(1, Metrics())
    asking = [ask(runner, signature, [[i]]) for i in range(3)]
    model.let_go()
    assert [each.join() for each in asking] == [[0], [2], [4]]
    assert model.sizes == [1, 1, 1]


@pytest.mark.parametrize("max_batch_size", [0, 8])
def test_a_request_that_waits_too_long_says_so(model, signature, ask, max_batch_size):
    runner = Runner(1, Metrics(), max_batch_size)
    first = ask(runner, signature, [[1]])
    model.wait_until_called()
    late = ask(runner, signature, [[2]], seconds=0.01)
    assert isinstance(late.join(), errors.DeadlineExceededError)
    model.let_go()
    assert first.join() == [2]
    assert joined(runner) == 0


def test_a_leader_whose_time_is_over_does_not_take_others_with_it(
    model, signature, ask, eventually, monkeypatch
):
    clock = Clock()
    monkeypatch.setattr(batching, "time", clock)
    runner = Runner(1, Metrics(), max_batch_size=8)
    first = ask(runner, signature, [[1]], deadline=SECONDS)
    model.wait_until_called()
    # While the clock stands still, it tries again and again to get a free thread.
    leader = ask(runner, signature, [[2]], deadline=0.05)
    wait_for_joined(runner, 1, eventually)
    follower = ask(runner, signature, [[3]], deadline=SECONDS)
    wait_for_joined(runner, 2, eventually)
    clock.now = 1.0
    model.let_go()
    assert (first.join(), follower.join()) == ([2], [6])
    leader.join()


def test_ragged_parts_are_never_joined():
    definition = meta_graph_pb2.SignatureDef()
    for name in ("items_values", "items_row_splits"):
        definition.inputs[name].CopyFrom(tensor_info(tf.int64, None))
    definition.outputs["y"].CopyFrom(tensor_info(tf.int64, None))
    signature = Signature("serving_default", None, definition)
    arrays = {name: np.arange(3) for name in signature.inputs}
    assert signature.examples(arrays) is None


def test_sparse_parts_are_never_joined():
    definition = meta_graph_pb2.SignatureDef()
    definition.inputs["x_values"].CopyFrom(tensor_info(tf.int64, None))
    definition.inputs["x_dense_shape"].CopyFrom(tensor_info(tf.int64, 2))
    definition.outputs["y"].CopyFrom(tensor_info(tf.int64, None))
    signature = Signature("serving_default", None, definition)
    arrays = {name: np.arange(2) for name in signature.inputs}
    assert signature.examples(arrays) is None


def test_a_gate_refuses_those_beyond_its_limit():
    metrics = Metrics()
    gate = Gate(2, metrics)
    with gate.admitted(), gate.admitted():
        assert metrics.value("persia_serve_requests_under_way") == 2
        with pytest.raises(errors.PersiaError, match="2 requests run or wait") as error:
            gate.admitted().__enter__()
        assert error.value.code == 8
    with gate.admitted():
        assert metrics.value("persia_serve_requests_under_way") == 1
