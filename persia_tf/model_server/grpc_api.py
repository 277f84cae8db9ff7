"""TensorFlow Serving's gRPC services: predictions, metadata and model status."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import grpc
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from persia_tf import errors
from persia_tf.model_server import codes, log_limit, tensors
from persia_tf.model_server.arriving_calls import ArrivingCalls
from persia_tf.model_server.predictor import Predictor, Query
from persia_tf.model_server.shown import clipped, shown
from persia_tf.native import capi

PREDICTION_SERVICE = "tensorflow.serving.PredictionService"

_API = "grpc"
_SIGNATURE_DEF = "signature_def"
# An error message lists at most this many of the metadata fields in a request.
_SHOWN_FIELDS = 16
_State = get_model_status_pb2.ModelVersionStatus

_logger = log_limit.limited("persia.serve.requests")

_Method = Callable[[Any, Any, grpc.ServicerContext], Any]

_PREDICT = f"/{PREDICTION_SERVICE}/Predict"

# Methods of TensorFlow Serving that this server does not implement. They fail with
# UNIMPLEMENTED, and their requests are not decoded.
_REFUSED = ("Classify", "Regress", "MultiInference", "HandleReloadConfigRequest")

# The largest size of a request without tensors, which contains little but names.
_SMALL_BYTES = 64 << 10


class MessageCheck:
    """Refuses requests that would take too much memory once they are decoded.

    Call this object with the full name of a method and the encoded request.

    Args:
        predictor: Counts the requests for predictions that this object refuses.
        max_message_bytes: The largest size of the decoded values in a request for a
            prediction.
    """

    def __init__(self, predictor: Predictor, max_message_bytes: int) -> None:
        self._predictor = predictor
        self._max_message_bytes = max_message_bytes
        self._native = capi.library()

    def __call__(self, method: str, message: bytes) -> None:
        name = method.rpartition("/")[2]
        if name in _REFUSED:
            raise errors.PersiaError(
                f"persia serve has no {name}: call Predict, which takes tensors "
                "instead of Examples",
                codes.UNIMPLEMENTED,
            )
        if method == _PREDICT:
            self._check_prediction(message)
        elif len(message) > _SMALL_BYTES:
            raise errors.PersiaError(
                f"a request for {name} may have at most {_SMALL_BYTES} bytes. "
                f"Received: {len(message)}",
                codes.RESOURCE_EXHAUSTED,
            )

    def _check_prediction(self, message: bytes) -> None:
        try:
            # This function does not hold the interpreter's lock; protobuf would.
            self._native.persia_predict_request_check(
                message, len(message), self._max_message_bytes
            )
        except errors.PersiaError:
            with self._predictor.counted(_API):
                raise


def add_services(
    server: ArrivingCalls,
    predictor: Predictor,
    *,
    request_seconds: float,
    max_message_bytes: int,
) -> None:
    """Adds the services for a model to a gRPC server.

    Args:
        server: The server's wrapper; the server must not have started yet.
        predictor: Answers the requests.
        request_seconds: How long a request for a prediction may take to arrive and to
            wait for its run, in all. An earlier deadline of the client replaces it.
        max_message_bytes: The largest total size of a request's tensors.
    """
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        _PredictionService(predictor, server, request_seconds, max_message_bytes),
        server,
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(
        _ModelService(predictor), server
    )


def _telling_errors(method: _Method) -> _Method:
    """Turns a method's exceptions into gRPC status codes with messages."""

    @functools.wraps(method)
    def answer(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request, context)
        except errors.PersiaError as error:
            # The error itself is not stored in a variable: its traceback refers to this
            # frame, and such a reference cycle would hold the request in memory until
            # the next garbage collection.
            code, told = error.code, clipped(str(error))
        except Exception as error:
            _logger.exception("A request failed")
            code, told = codes.INTERNAL, clipped(str(codes.as_persia_error(error)))
        context.abort(codes.GRPC[code], told)

    return answer


class _PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers requests for predictions and metadata: see `add_services`."""

    def __init__(
        self,
        predictor: Predictor,
        calls: ArrivingCalls,
        request_seconds: float,
        max_message_bytes: int,
    ) -> None:
        self._predictor = predictor
        self._calls = calls
        self._request_seconds = request_seconds
        self._max_message_bytes = max_message_bytes

    @_telling_errors
    def Predict(  # noqa: N802
        self, request: Any, context: grpc.ServicerContext
    ) -> Any:
        deadline = self._deadline(context)
        with self._predictor.counted(_API), self._predictor.place():
            return self._answer(request, deadline)

    @_telling_errors
    def GetModelMetadata(  # noqa: N802
        self, request: Any, context: grpc.ServicerContext
    ) -> Any:
        fields = request.metadata_field
        if len(fields) != 1 or fields[0] != _SIGNATURE_DEF:
            raise errors.InvalidArgumentError(
                f"metadata_field must be [{_SIGNATURE_DEF!r}]. Received: "
                f"{len(fields)} fields, {shown(fields[:_SHOWN_FIELDS])}"
            )
        spec = request.model_spec
        self._predictor.check_name(spec.name)
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        definitions = get_model_metadata_pb2.SignatureDefMap()
        with self._predictor.model.lease(_version_of(spec)) as loaded:
            _name_model(response.model_spec, spec.name, loaded.version)
            for name, signature in loaded.signatures.items():
                definitions.signature_def[name].CopyFrom(signature.definition)
        response.metadata[_SIGNATURE_DEF].Pack(definitions)
        return response

    def _answer(self, request: Any, deadline: float) -> Any:
        spec = request.model_spec
        answer = self._predictor.predict(
            Query(
                model=spec.name,
                version=_version_of(spec),
                signature=spec.signature_name,
                read=lambda signature: tensors.arrays_of(
                    request.inputs, signature, self._max_message_bytes
                ),
                output_filter=request.output_filter,
                deadline=deadline,
            )
        )
        response = predict_pb2.PredictResponse()
        _name_model(response.model_spec, spec.name, answer.version, answer.signature)
        for name, array in answer.outputs.items():
            response.outputs[name].CopyFrom(tensors.message_of(array))
        return response

    def _deadline(self, context: grpc.ServicerContext) -> float:
        deadline = self._calls.began(context) + self._request_seconds
        of_client = context.time_remaining()
        if of_client is None:  # The client has no deadline.
            return deadline
        return min(deadline, time.monotonic() + of_client)


class _ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """Answers requests for the states of a model's versions: see `add_services`."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    @_telling_errors
    def GetModelStatus(  # noqa: N802
        self, request: Any, context: grpc.ServicerContext
    ) -> Any:
        spec = request.model_spec
        self._predictor.check_name(spec.name)
        response = get_model_status_pb2.GetModelStatusResponse()
        for each in self._predictor.model.states(_version_of(spec)):
            told = response.model_version_status.add(
                version=each.version, state=_State.State.Value(each.state)
            )
            if each.error is not None:
                told.status.error_code = each.error.code
                told.status.error_message = str(each.error)
        return response


def _version_of(spec: Any) -> int | None:
    if spec.version_label:
        raise errors.InvalidArgumentError(
            "persia serve has no version labels: give a version's number, or none for "
            f"the newest. Received: version_label={shown(spec.version_label)}"
        )
    return spec.version.value if spec.HasField("version") else None


def _name_model(spec: Any, name: str, version: int, signature: str = "") -> None:
    spec.name = name
    spec.version.value = version
    spec.signature_name = signature
