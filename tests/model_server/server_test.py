"""The server as a whole: health, metrics, batches, limits, and its end."""

import http.client
import json
import math
import threading
import time

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis import get_model_status_pb2

from persia_tf import errors, model_server
from persia_tf.model_server import batching, served_model, served_signature
from persia_tf.processes import health

X = np.array([[1, 2], [3, 4]], np.float32)
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def check(client, service=""):
    request = b"\x0a" + bytes([len(service)]) + service.encode() if service else b""
    return client.channel.unary_unary("/grpc.health.v1.Health/Check")(
        request, timeout=60
    )


@pytest.fixture
def held(monkeypatch):
    """Makes all predictions wait; gives what releases them, and their inputs."""
    go_on, runs = threading.Event(), []
    run = served_signature.Signature.run

    def wait_and_run(signature, arrays):
        runs.append(arrays)
        assert go_on.wait(60)
        return run(signature, arrays)

    monkeypatch.setattr(served_signature.Signature, "run", wait_and_run)
    yield go_on, runs
    go_on.set()


@pytest.fixture
def ask_in_background():
    """Sends requests on threads of their own; waits for them with the test."""
    threads = []

    def start(client, answers, x):
        def ask():
            try:
                answers.append(client.predict(x=x)["scaled"])
            except grpc.RpcError as error:
                answers.append(error)

        threads.append(threading.Thread(target=ask))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join(60)


def test_health_follows_the_model(folder, add_version, serve):
    client = serve(serves=False)
    client.server.poll()
    names = ["", "model", "tensorflow.serving.PredictionService"]
    assert [check(client, name) for name in names] == [NOT_SERVING] * 3
    assert client.get("/healthz")[0] == 503
    code, message = client.refusal(client.predict, x=X)
    assert code == "UNAVAILABLE" and "no version that serves" in message
    assert client.post(":predict", {"inputs": X.tolist()})[0] == 503
    add_version(1)
    client.server.poll()
    assert [check(client, name) for name in names] == [SERVING] * 3
    assert client.get("/healthz") == (200, "ok\n")
    with pytest.raises(grpc.RpcError) as failure:
        check(client, "other")
    assert failure.value.code() == grpc.StatusCode.NOT_FOUND


def test_metrics_count_requests_and_versions(add_version, serve):
    add_version(1)
    client = serve()
    client.predict(x=X)
    client.refusal(client.predict, name="other", x=X)
    client.post(":predict", {"inputs": X.tolist()})
    code, text = client.get("/metrics")
    assert code == 200
    for line in (
        'persia_serve_requests_total{api="grpc",code="OK"} 1.0',
        'persia_serve_requests_total{api="grpc",code="NOT_FOUND"} 1.0',
        'persia_serve_requests_total{api="rest",code="OK"} 1.0',
        'persia_serve_request_seconds_count{api="grpc"} 2.0',
        'persia_serve_request_seconds_bucket{api="grpc",le="+Inf"} 2.0',
        "persia_serve_requests_under_way 0.0",
        'persia_serve_loads_total{result="loaded"} 1.0',
        'persia_serve_version_serving{version="1"} 1.0',
        "# TYPE persia_serve_request_seconds histogram",
    ):
        assert line in text.splitlines()


def test_joined_requests_get_their_own_answers(
    add_version, serve, held, ask_in_background, eventually
):
    go_on, runs = held
    add_version(2)
    client = serve(threads=1, max_batch_size=64)
    first, others = [], []
    ask_in_background(client, first, X)
    eventually(lambda: runs, "the first request's run")
    asked = [np.full((size, 2), size, np.float32) for size in (1, 2, 3, 4)]
    for x in asked:
        ask_in_background(client, others, x)
    metrics = client.server.metrics
    eventually(
        lambda: metrics.value("persia_serve_requests_under_way") == 5, "all requests"
    )
    go_on.set()
    eventually(lambda: len(others) == 4, "all answers")
    by_size = sorted(others, key=len)
    for x, answer in zip(asked, by_size):
        np.testing.assert_array_equal(answer, 2 * x)
    assert metrics.value("persia_serve_batch_requests_count") == len(runs)
    assert sum(len(run["x"]) for run in runs) == 2 + 10


def test_requests_beyond_the_limit_are_refused(
    add_version, serve, held, ask_in_background, eventually
):
    go_on, runs = held
    add_version(1)
    client = serve(max_requests=2, threads=1)
    answers = []
    for _ in range(2):
        ask_in_background(client, answers, X)
    metrics = client.server.metrics
    eventually(
        lambda: metrics.value("persia_serve_requests_under_way") == 2, "both requests"
    )
    code, message = client.refusal(client.predict, x=X)
    assert code == "RESOURCE_EXHAUSTED" and "--max-requests" in message
    code, answer = client.post(":predict", {"inputs": X.tolist()})
    assert code == 503 and "--max-requests" in answer["error"]
    # Health checks are still answered.
    assert check(client) == SERVING and client.get("/healthz")[0] == 200
    go_on.set()
    eventually(lambda: len(answers) == 2, "their answers")
    assert all(np.array_equal(answer, X) for answer in answers)


BODY = json.dumps({"inputs": X.tolist()}).encode()


def begin_post(client):
    """Sends the request of a prediction over REST without its body."""
    connection = http.client.HTTPConnection(*client.server.rest_address, timeout=60)
    connection.putrequest("POST", "/v1/models/model:predict")
    connection.putheader("Content-Length", str(len(BODY)))
    connection.endheaders()
    return connection


def under_way(client):
    return client.server.metrics.value("persia_serve_requests_under_way")


def arriving(client):
    return client.server.metrics.value("persia_serve_requests_arriving")


def test_a_request_beyond_the_limit_is_refused_before_it_is_read(
    add_version, serve, held, ask_in_background, eventually
):
    go_on, runs = held
    add_version(1)
    client = serve(max_requests=1)
    answers = []
    ask_in_background(client, answers, X)
    eventually(lambda: runs, "the first request")
    connection = begin_post(client)
    response = connection.getresponse()
    assert response.status == 503 and b"--max-requests" in response.read()
    assert response.headers["Retry-After"] == "1"
    connection.close()
    go_on.set()
    eventually(lambda: answers, "its answer")
    np.testing.assert_array_equal(answers[0], X)


def test_requests_that_arrive_hold_no_place(add_version, serve, eventually):
    add_version(1)
    client = serve(max_requests=1)
    slow = [begin_post(client) for _ in range(20)]
    eventually(lambda: arriving(client) == 20, "all of them")
    assert under_way(client) == 0
    np.testing.assert_array_equal(client.predict(x=X)["scaled"], X)
    assert client.post(":predict", {"inputs": X.tolist()})[0] == 200
    for connection in slow:
        connection.send(BODY)
        response = connection.getresponse()
        assert json.loads(response.read()) == {"outputs": X.tolist()}
        connection.close()
    assert arriving(client) == under_way(client) == 0


def test_a_request_that_does_not_arrive_is_refused(add_version, serve):
    add_version(1)
    client = serve(max_requests=1, request_seconds=0.05)
    connection = begin_post(client)
    response = connection.getresponse()
    assert response.status == 408 and b"within 0.05 s" in response.read()
    connection.close()
    told = {"api": "rest", "code": "DEADLINE_EXCEEDED"}
    assert client.server.metrics.value("persia_serve_requests_total", **told) == 1


def test_a_client_that_leaves_is_counted(add_version, serve, eventually):
    add_version(1)
    client = serve()
    connection = begin_post(client)
    eventually(lambda: arriving(client) == 1, "the request")
    connection.close()
    eventually(lambda: arriving(client) == 0, "its end")
    told = {"api": "rest", "code": "CANCELLED"}
    assert client.server.metrics.value("persia_serve_requests_total", **told) == 1


def test_a_requests_time_begins_before_it_is_read(
    add_version, serve, eventually, monkeypatch
):
    deadlines = []
    run = batching.Runner.run

    def record(runner, signature, arrays, deadline):
        deadlines.append(deadline)
        return run(runner, signature, arrays, deadline)

    monkeypatch.setattr(batching.Runner, "run", record)
    add_version(1)
    client = serve(request_seconds=60)
    connection = begin_post(client)
    eventually(lambda: arriving(client) == 1, "the request")
    latest = time.monotonic() + 60
    connection.send(BODY)
    assert connection.getresponse().status == 200
    connection.close()
    [deadline] = deadlines
    assert deadline <= latest


def test_calls_by_grpc_are_bounded(add_version, serve, eventually, monkeypatch):
    go_on, entered = threading.Event(), []
    states = served_model.ServedModel.states

    def hold(model, version=None):
        entered.append(version)
        assert go_on.wait(60)
        return states(model, version)

    monkeypatch.setattr(served_model.ServedModel, "states", hold)
    add_version(1)
    client = serve(max_requests=2)
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "model"
    most = 2 * 2 + health.MAX_WATCHES + health.CHECK_THREADS + 4
    calls = [client.models.GetModelStatus.future(request) for _ in range(most)]
    try:
        eventually(lambda: len(entered) == most, "as many calls as there may be")
        code, _ = client.refusal(client.models.GetModelStatus, request, timeout=60)
    finally:
        go_on.set()
    assert code == "RESOURCE_EXHAUSTED"
    for call in calls:
        assert call.result(60).model_version_status[0].version == 1


def test_it_ends_after_the_requests_under_way(
    add_version, serve, held, ask_in_background, eventually
):
    go_on, runs = held
    add_version(1)
    client = serve()
    answers = []
    ask_in_background(client, answers, X)
    eventually(lambda: runs, "the run")
    ending = threading.Thread(target=client.server.stop)
    ending.start()

    def says_that_it_ends():
        try:
            return check(client) == NOT_SERVING
        except grpc.RpcError as error:
            return error.code() == grpc.StatusCode.UNAVAILABLE

    eventually(says_that_it_ends, "the end to begin")
    assert not answers
    go_on.set()
    ending.join(60)
    assert not ending.is_alive()
    eventually(lambda: answers, "the answer")
    np.testing.assert_array_equal(answers[0], X)
    assert client.server.stop() is True


def test_it_tells_of_a_request_that_does_not_end(
    add_version, serve, held, ask_in_background, eventually
):
    _, runs = held
    add_version(1)
    client = serve()
    answers = []
    ask_in_background(client, answers, X)
    eventually(lambda: runs, "the run")
    assert client.server.stop(seconds=0.05) is False
    eventually(lambda: answers, "its end for the client")
    assert isinstance(answers[0], grpc.RpcError)


def test_a_port_that_is_taken_is_told(add_version, serve, folder):
    add_version(1)
    client = serve()
    for option, address in (
        ("grpc_port", client.server.address),
        ("rest_port", client.server.rest_address),
    ):
        with pytest.raises(errors.UnavailableError, match="choose another port"):
            model_server.ModelServer(folder, **{option: address.port})
    assert client.predict(x=X)["scaled"].shape == X.shape


@pytest.mark.parametrize("option", ["grpc_port", "rest_port"])
def test_a_server_that_cannot_listen_leaves_no_thread(
    add_version, folder, serve, eventually, option
):
    add_version(1)
    client = serve()
    used = client.server.address, client.server.rest_address
    before = set(threading.enumerate())
    with pytest.raises(errors.UnavailableError):
        model_server.ModelServer(folder, **{option: used[option == "rest_port"].port})
    eventually(lambda: set(threading.enumerate()) <= before, "the threads' end")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"host": "0.0.0.0"}, "give --insecure"),
        ({"host": "no.such.host.invalid"}, "cannot listen on"),
        ({"versions": "newest"}, '"latest:N"'),
        ({"threads": 0}, "`threads` must be"),
        ({"max_requests": 0}, "`max_requests` must be"),
        ({"max_batch_size": -1}, "`max_batch_size` must be"),
        ({"max_message_bytes": 0}, "`max_message_bytes` must be an integer from 1"),
        ({"max_message_bytes": 2**31}, "Received: max_message_bytes=2147483648"),
        ({"max_body_bytes": 0}, "`max_body_bytes` must be an integer from 1"),
        ({"body_memory": 1 << 20}, "`body_memory` must be an integer from 8388608"),
        ({"max_connections": 0}, "`max_connections` must be an integer from 1"),
        ({"idle_seconds": 0}, "`idle_seconds` must be a finite number above 0"),
        ({"poll_seconds": 0}, "`poll_seconds` must be a finite number above 0"),
        ({"poll_seconds": 1e10}, r"`poll_seconds` must be .* to 1e\+06"),
        ({"request_seconds": -1}, "Received: request_seconds=-1"),
        ({"request_seconds": math.nan}, "Received: request_seconds=nan"),
        ({"batch_timeout": -0.1}, "`batch_timeout` must be a number from 0"),
        ({"batch_timeout": math.inf}, "Received: batch_timeout=inf"),
        ({"name": ""}, "must have 1 to 127 bytes"),
        ({"name": "a/b"}, "no / or :"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, options, told):
    with pytest.raises(ValueError, match=told):
        model_server.ModelServer(folder, **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_message_bytes": 1e6}, "`max_message_bytes` must be an integer"),
        ({"poll_seconds": "1"}, "Received: poll_seconds='1'"),
        ({"batch_timeout": None}, "`batch_timeout` must be a number"),
        ({"batch_timeout": True}, "Received: batch_timeout=True"),
    ],
)
def test_options_of_other_types_are_refused(folder, options, told):
    with pytest.raises(TypeError, match=told):
        model_server.ModelServer(folder, **options)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(errors.NotFoundError, match="there is no folder"):
        model_server.ModelServer(tmp_path / "none")


def test_waiting_for_a_model_that_does_not_come_ends(serve):
    client = serve(serves=False)
    with pytest.raises(errors.DeadlineExceededError, match="no version of model"):
        client.server.wait_until_serving(0.05)


def test_a_with_block_ends_it(add_version, folder):
    add_version(1)
    with model_server.ModelServer(folder) as server:
        server.wait_until_serving(60)
        address = str(server.address)
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=60)
