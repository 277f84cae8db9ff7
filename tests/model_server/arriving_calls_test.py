"""gRPC calls whose requests do not arrive."""

import threading
import time

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis import predict_pb2

from persia_tf.model_server.predictor import Predictor

X = np.ones((2, 2), np.float32)

METHODS = [
    "/tensorflow.serving.PredictionService/Predict",
    "/tensorflow.serving.ModelService/GetModelStatus",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
]


@pytest.fixture
def begin(request):
    """Begins calls without sending their requests; ends them with the test."""
    over, calls = threading.Event(), []

    def requests():
        over.wait(60)
        yield from ()

    def start(client, method):
        kind = client.channel.stream_stream
        calls.append(kind(method)(requests(), timeout=60))
        return calls[-1]

    yield start
    over.set()
    for call in calls:
        call.cancel()


@pytest.mark.parametrize("method", METHODS)
def test_a_request_that_does_not_arrive_ends_its_call(
    add_version, serve, begin, method
):
    add_version(1)
    client = serve(request_seconds=0.05)
    call = begin(client, method)
    with pytest.raises(grpc.RpcError) as failure:
        next(call)
    assert failure.value.code() == grpc.StatusCode.CANCELLED


def test_requests_that_arrive_hold_no_place(add_version, serve, begin, eventually):
    add_version(1)
    client = serve(max_requests=2)
    for _ in range(4):
        begin(client, METHODS[0])
    waiting = client.server._arriving._waiting
    eventually(lambda: len(waiting) == 4, "all of them")
    np.testing.assert_array_equal(client.predict(x=X)["scaled"], X)
    assert client.post(":predict", {"inputs": X.tolist()})[0] == 200
    assert client.channel.unary_unary(METHODS[2])(b"", timeout=60) == b"\x08\x01"


def test_the_time_to_arrive_is_part_of_a_requests_time(
    add_version, serve, monkeypatch, eventually
):
    add_version(1)
    client = serve(request_seconds=1000)
    deadlines = []
    predict = Predictor.predict

    def record(predictor, query):
        deadlines.append(query.deadline)
        return predict(predictor, query)

    monkeypatch.setattr(Predictor, "predict", record)
    may_arrive = threading.Event()

    def requests():
        assert may_arrive.wait(60)
        yield client.request(x=X).SerializeToString()

    call = client.channel.stream_unary(METHODS[0]).future(requests())
    eventually(lambda: client.server._arriving._waiting, "the call")
    began = time.monotonic()
    may_arrive.set()
    assert call.result(60)
    assert deadlines[0] <= began + 1000
    eventually(lambda: not client.server._arriving._began, "the end of the call")


def test_a_call_without_a_request_is_ended(add_version, serve):
    add_version(1)
    client = serve()
    call = client.channel.stream_unary(
        METHODS[0], request_serializer=predict_pb2.PredictRequest.SerializeToString
    )
    with pytest.raises(grpc.RpcError) as failure:
        call(iter(()), timeout=60)
    assert failure.value.code() == grpc.StatusCode.CANCELLED
