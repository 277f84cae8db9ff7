"""Fixtures: exported models, servers of them, and clients."""

from __future__ import annotations

import contextlib
import json
import shutil
import urllib.error
import urllib.request

import grpc
import pytest
import tensorflow as tf
from harness import is_used, wait_until
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from persia_tf import model_server
from persia_tf.processes.free_ports import free_ports

# A test may replace this class.
PredictRequest = predict_pb2.PredictRequest

SECONDS = 60
# Servers do not poll by themselves: tests call `poll`.
NEVER = 3600


class Scale(tf.Module):
    """A model that is exported quickly: gives `x * factor`, and its version."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = tf.Variable(factor)

    @tf.function(input_signature=[tf.TensorSpec((None, 2), tf.float32, "x")])
    def scale(self, x):
        return {"scaled": x * self._factor}

    @tf.function(
        input_signature=[
            tf.TensorSpec((None,), tf.string, "words"),
            tf.TensorSpec((None,), tf.int64, "counts"),
        ]
    )
    def describe(self, words, counts):
        return {
            "upper": tf.strings.upper(words),
            "digest_bytes": tf.strings.join([words, tf.fill(tf.shape(words), b"\xff")]),
            "more": counts + 1,
        }

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32, "x")])
    def divide(self, x):
        checked = tf.debugging.assert_non_negative(x, "no negative ones")
        with tf.control_dependencies([checked]):
            return {"inverse": 1 / x, "total": tf.reduce_sum(x)}

    @tf.function(
        input_signature=[
            tf.TensorSpec((None,), tf.float32, "items_values"),
            tf.TensorSpec((None,), tf.int64, "items_row_splits"),
        ]
    )
    def pool(self, items_values, items_row_splits):
        items = tf.RaggedTensor.from_row_splits(items_values, items_row_splits)
        return {"sums": tf.reduce_sum(items, axis=1)}

    def save(self, path) -> None:
        signatures = {
            "serving_default": self.scale,
            "describe": self.describe,
            "divide": self.divide,
            "pool": self.pool,
        }
        tf.saved_model.save(self, str(path), signatures)


class Client:
    """Asks a server over gRPC and REST."""

    def __init__(self, server, stack) -> None:
        self.server = server
        self.name = server.name
        self.channel = stack.enter_context(grpc.insecure_channel(str(server.address)))
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(
            self.channel
        )
        self.models = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def request(self, signature="", version=None, name=None, **inputs):
        request = PredictRequest()
        request.model_spec.name = name or self.name
        request.model_spec.signature_name = signature
        if version is not None:
            request.model_spec.version.value = version
        for key, value in inputs.items():
            request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
        return request

    def predict(self, signature="", version=None, name=None, **inputs):
        """Requests a prediction over gRPC; returns the outputs as arrays."""
        request = self.request(signature, version, name, **inputs)
        response = self.predictions.Predict(request, timeout=SECONDS)
        return {name: tf.make_ndarray(t) for name, t in response.outputs.items()}

    def refusal(self, call, *args, **kwargs):
        """Makes a call that must fail; returns its code and message."""
        with pytest.raises(grpc.RpcError) as failure:
            call(*args, **kwargs)
        return failure.value.code().name, failure.value.details()

    def versions(self):
        """Returns the states of all versions."""
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = self.name
        response = self.models.GetModelStatus(request, timeout=SECONDS)
        names = get_model_status_pb2.ModelVersionStatus.State.Name
        return {v.version: names(v.state) for v in response.model_version_status}

    def metadata(self):
        request = get_model_metadata_pb2.GetModelMetadataRequest()
        request.model_spec.name = self.name
        request.metadata_field.append("signature_def")
        return self.predictions.GetModelMetadata(request, timeout=SECONDS)

    def get(self, path):
        """Requests a page; returns its status and text."""
        return self._open(
            urllib.request.Request(f"http://{self.server.rest_address}{path}")
        )

    def post(self, path, body):
        """Posts a request about the model; returns the answer's status and JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"http://{self.server.rest_address}/v1/models/{self.name}{path}"
        code, text = self._open(urllib.request.Request(url, data, method="POST"))
        return code, json.loads(text)

    def _open(self, request):
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture
def folder(tmp_path):
    """The folder of a model that has no version yet."""
    path = tmp_path / "model"
    path.mkdir()
    return path


def start_client(stack, model, **options):
    """Starts a server, which ends with `stack`; returns a client of it."""
    # The port must be new: watchers of an earlier server must not hear of this one.
    [port] = free_ports(1)
    while is_used(port):
        [port] = free_ports(1)
    options = {"grpc_port": port, "poll_seconds": NEVER, **options}
    server = model_server.ModelServer(model, **options)
    stack.callback(server.stop)
    return Client(server, stack)


@pytest.fixture
def serve(folder):
    """Starts a server of the folder, and waits until it serves; gives a client."""
    with contextlib.ExitStack() as stack:

        def start(model=folder, serves=True, **options):
            client = start_client(stack, model, **options)
            if serves:
                client.server.wait_until_serving(SECONDS)
            return client

        yield start


@pytest.fixture(scope="module")
def client(saved_models, tmp_path_factory):
    """A client of a model with version 2 only, which scales by 2."""
    folder = tmp_path_factory.mktemp("served") / "model"
    shutil.copytree(saved_models(2), folder / "2")
    with contextlib.ExitStack() as stack:
        started = start_client(stack, folder)
        started.server.wait_until_serving(SECONDS)
        yield started


@pytest.fixture(scope="session")
def saved_models(tmp_path_factory):
    """SavedModels that scale by 1, 2, ..., made once because that takes long."""
    parent = tmp_path_factory.mktemp("scales")

    def of(factor):
        path = parent / str(factor)
        if not path.exists():
            Scale(float(factor)).save(path)
        return path

    return of


@pytest.fixture
def add_version(folder, saved_models):
    """Puts a version into a model's folder; it scales by its number."""

    def add(version, factor=None):
        partial = folder / f"partial.{version}"
        shutil.copytree(saved_models(factor or version), partial)
        return partial.rename(folder / str(version))

    return add


@pytest.fixture
def eventually():
    """Waits for a condition, with a deadline."""
    return wait_until
