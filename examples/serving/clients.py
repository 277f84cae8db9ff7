"""Model server clients that do not need persia_tf."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Optional

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

_SECONDS = 60


class GrpcClient:
    """Requests predictions over gRPC.

    Args:
        address: the address of the server.
        model: the model's name on the server.
    """

    def __init__(self, address: str, model: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._service = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._model = model

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()

    def predict(
        self, inputs: Mapping[str, np.ndarray], version: Optional[int] = None
    ) -> tuple[int, np.ndarray]:
        """Returns the version that answered, and the answer's only output.

        Args:
            inputs: arrays by name, with a row per example.
            version: the version to use; None: the newest.
        """
        request = predict_pb2.PredictRequest()
        request.model_spec.name = self._model
        if version is not None:
            request.model_spec.version.value = version
        for name, array in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
        answer = self._service.Predict(request, timeout=_SECONDS)
        [output] = answer.outputs.values()
        return answer.model_spec.version.value, tf.make_ndarray(output)


def rest_predict(
    address: str, model: str, inputs: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Requests a model's only output over REST.

    Args:
        address: the address of the server.
        model: the model's name on the server.
        inputs: arrays by name, with a row per example.
    """
    body = {"inputs": {name: array.tolist() for name, array in inputs.items()}}
    request = urllib.request.Request(
        f"http://{address}/v1/models/{model}:predict", json.dumps(body).encode()
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as response:
        return np.array(json.load(response)["outputs"], np.float32)


def wait_until_serving(address: str, seconds: float = 120) -> None:
    """Waits until a server reports that it serves a model.

    Args:
        address: the server's address for REST.
        seconds: the longest wait.

    Raises:
        TimeoutError: if the server serves no model within `seconds`.
    """
    give_up = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(f"http://{address}/healthz", timeout=_SECONDS)
            return
        except urllib.error.HTTPError as error:
            if time.monotonic() > give_up:
                raise TimeoutError(f"{address} serves no model") from error
            time.sleep(0.05)
