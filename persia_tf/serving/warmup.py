"""Requests that TensorFlow Serving answers itself before a new version serves."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from persia_tf.serving.signature import Inputs

Tensors = dict[str, tf.Tensor]

# Where it looks for them.
FILE_NAME = "tf_serving_warmup_requests"

# It reads no more.
_MOST = 1000


def warmup_requests(batches: Iterable[Any], inputs: Inputs) -> list[Tensors]:
    """Makes batches requests: tensors by their names.

    Args:
        batches: In the structure that the model takes.
        inputs: Of the model.

    Raises:
        ValueError: if there are more than TensorFlow Serving reads, or one is not what
            the model takes.
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
    """Makes requests records of a file for TensorFlow Serving.

    Args:
        signature: The one that they are for.
        requests: As `warmup_requests` makes them.

    Returns:
        Serialized PredictionLogs.

    Raises:
        ImportError: without tensorflow-serving-api.
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError as error:
        raise ImportError(
            "`warmup` needs tensorflow-serving-api: "
            "`pip install 'persia_tf[serving]'` brings it"
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
    """Writes the records' file into a folder."""
    with tf.io.TFRecordWriter(os.path.join(folder, FILE_NAME)) as writer:
        for record in records:
            writer.write(record)
