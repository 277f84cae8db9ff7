"""Versions that appear, fail and disappear while clients send requests."""

import logging
import os
import shutil
import threading
import weakref

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from persia_tf import errors
from persia_tf.model_server import loading, served_model, versions

X = np.array([[1, 2], [3, 4]], np.float32)


def failed_loads(client):
    return client.server.metrics.value("persia_serve_loads_total", result="failed")


def factor_of(client, version=None):
    return client.predict(version=version, x=X)["scaled"][0, 0]


class Told:
    """A watcher that records what it is told."""

    def __init__(self, fails=False):
        self.events = []
        self._fails = fails

    def started(self, loaded):
        self.events.append(("started", loaded.version))
        assert loaded.saved_model.signatures.keys() == loaded.signatures.keys()
        if self._fails:
            raise errors.UnavailableError("no shard answers")

    def ended(self, loaded):
        self.events.append(("ended", loaded.version))


def truncate(version):
    path = version / "variables" / "variables.data-00000-of-00001"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path, whole


def test_the_newest_version_serves_and_takes_over(add_version, serve):
    add_version(2)
    client = serve()
    assert factor_of(client) == 2
    add_version(10)  # Newer than 2, as a number.
    client.server.poll()
    assert factor_of(client) == 10
    assert client.versions() == {10: "AVAILABLE", 2: "END"}


def test_no_request_fails_while_versions_change(add_version, serve, eventually):
    add_version(1)
    client = serve()
    stop, answers, failures = threading.Event(), [], []

    def ask():
        while not stop.is_set():
            try:
                answers.append(factor_of(client))
            except Exception as error:
                failures.append(error)
                return

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    try:
        for version in (1, 2, 3, 4):
            if version > 1:
                add_version(version)
                client.server.poll()
            eventually(lambda: failures or version in answers, "answers")  # noqa: B023
    finally:
        stop.set()
        for thread in asking:
            thread.join()
    assert failures == []
    assert {1, 2, 3, 4} == set(answers)


def test_a_folder_that_is_a_saved_model_is_version_1(saved_models, serve):
    client = serve(model=saved_models(3), name="scale")
    assert client.versions() == {1: "AVAILABLE"}
    assert factor_of(client) == 3


def test_a_number_beyond_64_bits_is_passed_over_and_told_once(
    add_version, serve, caplog
):
    for version in (1, 2**63, 20261122103015123456):
        add_version(version, factor=1)
    client = serve()
    client.server.poll()
    assert client.versions() == {1: "AVAILABLE"}
    assert factor_of(client) == 1
    told = [text for text in caplog.messages if "rename the folder" in text]
    assert len(told) == 2
    assert "must be at most 9223372036854775807" in told[0]
    add_version(2**63 - 1, factor=3)
    client.server.poll()
    assert client.versions() == {2**63 - 1: "AVAILABLE", 1: "END"}
    assert factor_of(client) == 3


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("latest:1", [3]), ("latest:2", [2, 3]), ("all", [1, 2, 3])],
)
def test_so_many_versions_serve(add_version, serve, policy, expected):
    for version in (1, 2, 3):
        add_version(version)
    client = serve(versions=policy)
    # `serve` waits for the first version only.
    client.server.poll()
    assert sorted(client.versions()) == expected
    assert [factor_of(client, version) for version in expected] == expected


@pytest.mark.parametrize("text", ["latest", "latest:0", "latest:x", "newest:1", ""])
def test_other_policies_are_refused(text):
    with pytest.raises(errors.InvalidArgumentError, match='"latest:N"'):
        versions.read_policy(text)


def spoil_truncated(folder, add_version):
    truncate(add_version(2))


def spoil_graph(folder, add_version):
    path = add_version(2) / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-100])


def spoil_foreign(folder, add_version):
    (folder / "2").mkdir()
    (folder / "2" / "saved_model.pb").write_bytes(b"no protocol buffer")


def spoil_empty(folder, add_version):
    (folder / "2").mkdir()


def spoil_unserved(folder, add_version):
    tf.saved_model.save(tf.Module(), str(folder / "2"))


def replace_op(version, name):
    """Replaces the name of an op in a version by another name of equal length."""
    path = version / "saved_model.pb"
    graph = path.read_bytes()
    assert b"\x0bStringUpper" in graph
    path.write_bytes(graph.replace(b"\x0bStringUpper", b"\x0b" + name))


def spoil_op(folder, add_version):
    replace_op(add_version(2), b"StringUnder")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (spoil_truncated, "damaged, or not whole yet"),
        (spoil_graph, "saved_model.pb"),
        (spoil_foreign, "is not a SavedModel"),
        (spoil_empty, "there is no"),
        (spoil_unserved, "has no signature"),
        (spoil_op, "an op that is not of TensorFlow"),
    ],
)
@pytest.mark.parametrize("first", ["good", "spoilt"])
def test_the_last_good_version_serves_beside_a_spoilt_one(
    folder, add_version, serve, caplog, spoil, told, first
):
    if first == "spoilt":  # Before the server starts.
        spoil(folder, add_version)
    add_version(1)
    client = serve()
    if first == "good":
        spoil(folder, add_version)
    client.server.poll()
    assert factor_of(client) == 1
    assert client.versions() == {2: "END", 1: "AVAILABLE"}
    assert told in client.get("/v1/models/model/versions/2")[1]
    [record] = [
        record
        for record in caplog.records
        if (record.name, record.levelno) == ("persia.serve", logging.ERROR)
    ]
    assert "Version 2 does not serve" in record.getMessage()
    assert failed_loads(client) == 1


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (None, "install the version that exported it"),
        (errors.LibraryLoadError("its library is missing"), "its library is missing"),
    ],
)
def test_ops_of_this_library_that_are_not_there_are_told(
    folder, add_version, serve, monkeypatch, failure, told
):
    monkeypatch.setattr(loading, "_load_ops", lambda: failure)
    replace_op(add_version(1), b"PersiaUpper")
    client = serve(serves=False)
    client.server.poll()
    status = client.get("/v1/models/model")[1]
    assert "it has ops of persia_tf, and" in status and told in status


def test_a_version_that_ended_leaves_memory(add_version, serve):
    class Remember(Told):
        def started(self, loaded):
            self.events.append(weakref.ref(loaded.saved_model))

    watcher = Remember()
    add_version(1)
    client = serve(watchers=[watcher])
    assert factor_of(client) == 1
    assert watcher.events[0]() is not None
    add_version(2)
    client.server.poll()
    assert watcher.events[0]() is None


def test_a_version_that_did_not_load_is_tried_again_when_its_files_change(
    add_version, serve
):
    add_version(1)
    client = serve()
    path, whole = truncate(add_version(2))
    for _ in range(3):
        client.server.poll()
    assert failed_loads(client) == 1
    path.write_bytes(whole)
    client.server.poll()
    assert factor_of(client) == 2


def test_a_version_that_did_not_load_is_tried_again_after_a_while(
    add_version, serve, monkeypatch
):
    # Its files may be intact, if something else that it needs was unavailable.
    add_version(1)
    client = serve()
    truncate(add_version(2))
    monkeypatch.setattr(served_model, "_RETRY_SECONDS", 0)
    client.server.poll()
    client.server.poll()
    assert failed_loads(client) == 2


def test_a_version_whose_folder_is_gone_ends(folder, add_version, serve):
    add_version(1)
    add_version(2)
    client = serve()
    shutil.rmtree(folder / "2")
    client.server.poll()
    assert factor_of(client) == 1
    assert client.versions() == {1: "AVAILABLE"}
    shutil.rmtree(folder / "1")
    client.server.poll()
    code, message = client.refusal(factor_of, client)
    assert code == "UNAVAILABLE" and "no version that serves" in message


def test_a_model_folder_that_cannot_be_listed_changes_nothing(
    folder, add_version, serve
):
    add_version(1)
    client = serve()
    folder.rename(folder.with_name("elsewhere"))
    client.server.poll()
    assert factor_of(client) == 1


def test_watchers_are_told_of_versions(add_version, serve):
    watcher = Told()
    add_version(1)
    client = serve(watchers=[watcher])
    add_version(2)
    client.server.poll()
    assert watcher.events == [("started", 1), ("started", 2), ("ended", 1)]
    client.server.stop()
    assert watcher.events[3:] == [("ended", 2)]


def test_a_watcher_may_refuse_a_version(add_version, serve):
    first, second = Told(), Told(fails=True)
    add_version(1)
    client = serve(serves=False, watchers=[first, second])
    client.server.poll()
    assert not client.server.is_serving
    assert first.events == [("started", 1), ("ended", 1)]
    assert "no shard answers" in client.get("/v1/models/model")[1]


def test_a_version_ends_after_its_last_request(folder, add_version):
    watcher = Told()
    model = served_model.ServedModel("model", str(folder), watchers=[watcher])
    add_version(1)
    model.poll()
    with model.lease() as loaded:
        add_version(2)
        model.poll()
        assert [state.state for state in model.states()] == ["AVAILABLE", "UNLOADING"]
        assert ("ended", 1) not in watcher.events
        with model.lease() as newer:
            assert (loaded.version, newer.version) == (1, 2)
    model.poll()
    assert ("ended", 1) in watcher.events
    model.close(seconds=0)


class Held(Told):
    """A watcher that delays a version's start until it is told to go on, or stops."""

    def __init__(self, version, until_stopping=False):
        super().__init__()
        self._version = version
        self._until_stopping = until_stopping
        self.entered = threading.Event()
        self.go_on = threading.Event()

    def started(self, loaded):
        super().started(loaded)
        if loaded.version == self._version:
            self.entered.set()
            assert self.go_on.wait(60)

    def stopping(self):
        self.events.append("stopping")
        if self._until_stopping:
            self.go_on.set()


@pytest.fixture
def poll_in_background():
    """Polls on a thread of its own; waits for it with the test."""
    threads = []

    def start(model):
        threads.append(threading.Thread(target=model.poll))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.join(60)


def test_what_loads_while_all_ends_does_not_serve_and_all_is_ended(
    folder, add_version, poll_in_background
):
    told, held, last = Told(), Held(2), Told()
    serving = []
    model = served_model.ServedModel(
        *("model", str(folder)),
        watchers=[told, held, last],
        tell_serving=serving.append,
    )
    add_version(1)
    model.poll()
    add_version(2)
    polling = poll_in_background(model)
    assert held.entered.wait(60)
    model.close(seconds=0)
    assert told.events[1:] == [("started", 2)]
    held.go_on.set()
    polling.join(60)
    assert told.events[1:] == [("started", 2), ("ended", 2), ("ended", 1)]
    assert held.events[1:] == [
        *(("started", 2), "stopping", ("ended", 2), ("ended", 1))
    ]
    assert last.events == [("started", 1), ("ended", 1)]
    assert {state.state for state in model.states()} == {"END"}
    assert not model.is_serving and serving[-1] is False
    model.poll()
    assert not model.is_serving


def test_a_watcher_that_waits_is_told_of_the_end(
    folder, add_version, poll_in_background
):
    held = Held(1, until_stopping=True)
    model = served_model.ServedModel("model", str(folder), watchers=[held])
    add_version(1)
    polling = poll_in_background(model)
    assert held.entered.wait(60)
    model.stop_loading()
    polling.join(60)
    assert held.events == [("started", 1), "stopping", ("ended", 1)]
    model.close(seconds=0)
    assert held.events.count("stopping") == 1


def test_versions_serve_on_while_nothing_is_loaded_any_more(folder, add_version):
    told = Told()
    model = served_model.ServedModel("model", str(folder), watchers=[told])
    add_version(1)
    model.poll()
    model.stop_loading()
    add_version(2)
    model.poll()
    with model.lease() as loaded:
        assert loaded.version == 1
    model.close(seconds=0)
    assert told.events == [("started", 1), ("ended", 1)]


def write_warmup(version, *logs):
    extra = version / "assets.extra"
    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as writer:
        for log in logs:
            writer.write(log.SerializeToString())


def predict_log(**inputs):
    request = predict_pb2.PredictRequest()
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )


def test_a_version_answers_its_warmup_requests_before_it_serves(
    folder, add_version, monkeypatch
):
    asked = []
    run = loading.Signature.run

    def record(signature, arrays):
        asked.append(arrays["x"].shape)
        return run(signature, arrays)

    monkeypatch.setattr(loading.Signature, "run", record)
    write_warmup(add_version(1), predict_log(x=X), predict_log(x=X[:1]))
    model = served_model.ServedModel("model", str(folder))
    model.poll()
    assert asked == [(2, 2), (1, 2)]
    model.close(seconds=0)


@pytest.mark.parametrize("wrong", ["input", "kind", "damaged"])
def test_a_version_that_fails_its_warmup_does_not_serve(
    folder, add_version, serve, wrong
):
    add_version(1)
    version = add_version(2)
    logs = {
        "input": predict_log(y=X),
        "kind": prediction_log_pb2.PredictionLog(
            regress_log=prediction_log_pb2.RegressLog()
        ),
        "damaged": predict_log(x=X),
    }
    write_warmup(version, logs[wrong])
    if wrong == "damaged":
        file = version / "assets.extra" / "tf_serving_warmup_requests"
        os.truncate(file, file.stat().st_size - 1)
    client = serve()
    assert factor_of(client) == 1
    assert "warm-up with" in client.get("/v1/models/model/versions/2")[1]
