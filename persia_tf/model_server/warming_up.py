"""Warm-up: runs a SavedModel's sample requests before the SavedModel serves."""

from __future__ import annotations

import os
from collections.abc import Callable

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from persia_tf import errors
from persia_tf.model_server import tensors
from persia_tf.model_server.served_signature import Signature

# The file in which TensorFlow Serving expects the warm-up requests, and the largest
# number of requests in it.
_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
_MOST = 1000


def run(path: str, signature: Callable[[str], Signature]) -> None:
    """Runs the warm-up requests of a SavedModel, if it has any.

    The first call of a signature is slower than later calls, since TensorFlow then
    optimizes the signature's graph.

    Args:
        path: The SavedModel's folder.
        signature: A function that returns the signature with a given name.

    Raises:
        PersiaError: If the file of requests cannot be read, or the model fails.
    """
    file = os.path.join(path, _FILE)
    if not os.path.exists(file):
        return
    try:
        records = tf.data.TFRecordDataset(file).take(_MOST + 1).as_numpy_iterator()
        for count, record in enumerate(records):
            if count == _MOST:
                raise errors.InvalidArgumentError(f"it has more than {_MOST} records")
            _answer(record, signature)
    except (errors.PersiaError, tf.errors.OpError, DecodeError) as error:
        raise errors.FailedPreconditionError(
            f"warm-up with {file} failed: {error}; fix the file, or remove it"
        ) from error


def _answer(record: bytes, signature: Callable[[str], Signature]) -> None:
    log = prediction_log_pb2.PredictionLog.FromString(record)
    if not log.HasField("predict_log"):
        raise errors.InvalidArgumentError(
            f"a record must be a predict_log. Received: {log.WhichOneof('log_type')}"
        )
    request = log.predict_log.request
    wanted = signature(request.model_spec.signature_name)
    wanted.run(tensors.arrays_of(request.inputs, wanted))
