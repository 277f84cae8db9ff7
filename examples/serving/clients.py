"""Programs that ask a model server: what they need is not persia_tf."""

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
    """Asks for predictions by gRPC.

    Args:
        address: of the server.
        model: its name there.
    """

    def __init__(self, address: str, model: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._service = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._model = model

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def predict(
        self, inputs: Mapping[str, np.ndarray], version: Optional[int] = None
    ) -> tuple[int, np.ndarray]:
        """Returns the version that answered, and its only output.

        Args:
            inputs: arrays by name, a row an example.
            version: the one to ask; None: the newest.
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
    """Returns a model's only output, by REST.

    Args:
        address: of the server.
        model: its name there.
        inputs: arrays by name, a row an example.
    """
    body = {"inputs": {name: array.tolist() for name, array in inputs.items()}}
    request = urllib.request.Request(
        f"http://{address}/v1/models/{model}:predict", json.dumps(body).encode()
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as response:
        return np.array(json.load(response)["outputs"], np.float32)


def wait_until_serving(address: str, seconds: float = 120) -> None:
    """Waits until a server says that it has a model.

    Args:
        address: its address for REST.
        seconds: how long to wait at most.

    Raises:
        TimeoutError: if it has none by then.
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
