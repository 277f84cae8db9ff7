"""Warm-up requests, which TensorFlow Serving runs before it serves a new version."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from persia_tf.serving.export_signature import Inputs

Tensors = dict[str, tf.Tensor]

# The file of a SavedModel from which TensorFlow Serving reads warm-up requests.
FILE_NAME = "tf_serving_warmup_requests"

# The largest number of warm-up requests that TensorFlow Serving reads.
_MOST = 1000


def warmup_requests(batches: Iterable[Any], inputs: Inputs) -> list[Tensors]:
    """Converts batches to warm-up requests. A request is a dict of tensors by name.

    Args:
        batches: Batches in the structure that the model is called with.
        inputs: The model's inputs.

    Raises:
        ValueError: if there are more batches than TensorFlow Serving reads, or the
            model cannot be called with one of the batches.
    """
    requests = [
        inputs.tensors_of(batch) for batch in itertools.islice(batches, _MOST + 1)
    ]
    if len(requests) > _MOST:
        raise ValueError(
            f"`warmup` must have {_MOST} batches at most, which is what TensorFlow "
            f"Serving reads. Received: more than {_MOST}"
        )
    return requests


def warmup_records(signature: str, requests: Iterable[Tensors]) -> list[bytes]:
    """Serializes warm-up requests for the file that TensorFlow Serving reads.

    Args:
        signature: The name of the signature that the requests call.
        requests: Requests that `warmup_requests` returned.

    Returns:
        Serialized PredictionLogs.

    Raises:
        ImportError: if tensorflow-serving-api is not installed.
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError as error:
        raise ImportError(
            "`warmup` needs tensorflow-serving-api: "
            "`pip install 'persia_tf[serving]'` installs it"
        ) from error
    records = []
    for tensors in requests:
        request = predict_pb2.PredictRequest()
        request.model_spec.signature_name = signature
        for name, tensor in tensors.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(tensor))
        log = prediction_log_pb2.PredictionLog(
            predict_log=prediction_log_pb2.PredictLog(request=request)
        )
        records.append(log.SerializeToString())
    return records


def write_warmup(folder: str, records: Iterable[bytes]) -> None:
    """Writes serialized warm-up requests to the file `FILE_NAME` in a folder."""
    with tf.io.TFRecordWriter(os.path.join(folder, FILE_NAME)) as writer:
        for record in records:
            writer.write(record)
