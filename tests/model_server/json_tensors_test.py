"""JSON as arrays: exact, or refused."""

import json

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from persia_tf import errors
from persia_tf.model_server.json_tensors import Body
from persia_tf.model_server.signature import Signature


def read(value, dtype, *, rank=1):
    """The array of a signature's only input, which is given in columns."""
    definition = meta_graph_pb2.SignatureDef()
    tensor = definition.inputs["x"]
    tensor.name, tensor.dtype = "x:0", dtype.as_datatype_enum
    for _ in range(rank):
        tensor.tensor_shape.dim.add(size=-1)
    signature = Signature("serving_default", None, definition)
    return Body(json.dumps({"inputs": value}).encode()).read(signature)["x"]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (tf.uint64, [1, 2**63]),
        (tf.uint64, [0, 2**53 + 1, 2**64 - 1]),
        (tf.int64, [-(2**63), 2**63 - 1]),
        (tf.uint32, [2**32 - 1]),
        (tf.int8, [-128, 127]),
        (tf.int64, []),
    ],
)
def test_integers_are_exact(dtype, value):
    array = read(value, dtype)
    assert array.dtype == dtype.as_numpy_dtype
    assert array.tolist() == value


@pytest.mark.parametrize(
    ("value", "shape"), [(7, ()), ([[1, 2**63]], (1, 2)), ([[], []], (2, 0))]
)
def test_integers_of_any_shape(value, shape):
    array = read(value, tf.uint64, rank=len(shape))
    assert array.shape == shape and array.tolist() == value


@pytest.mark.parametrize(
    ("dtype", "value", "told"),
    [
        (tf.uint64, [1, 2**64], "18446744073709551616, which is beyond uint64"),
        (tf.uint64, [2**63, -1], "-1, which is beyond uint64"),
        (tf.int64, [1, 2**63], "9223372036854775808, which is beyond int64"),
        (tf.int8, [128], "128, which is beyond int8"),
        (tf.int64, [1, 2.0], "values of type float"),
        (tf.int64, [True, 2], "values of type bool"),
        (tf.int64, ["1", None], "values of type NoneType, str"),
        (tf.int64, [{"b64": "YQ=="}, {"b64": ""}], "values of type dict"),
        (tf.int64, [[1, 2], [3]], "lists of unequal lengths"),
        (tf.int64, [[1], 2], "lists of unequal lengths"),
        (tf.int64, [[], [1]], "lists of unequal lengths"),
    ],
)
def test_what_is_no_integer_of_the_type_is_told(dtype, value, told):
    with pytest.raises(errors.InvalidArgumentError) as refusal:
        read(value, dtype)
    assert f"input 'x' must be {dtype.name} of shape (any)" in str(refusal.value)
    assert str(refusal.value).endswith(f"Received: {told}")


def test_other_numbers_are_as_they_were():
    assert read([1, 2.5, -(2**62)], tf.float64).tolist() == [1, 2.5, -(2**62)]
    assert read([1, 2.5], tf.bfloat16).astype(float).tolist() == [1, 2.5]
    assert read([True, False], tf.bool).tolist() == [True, False]
    assert read([], tf.float32).dtype == np.float32
    for dtype, value in ((tf.bool, [1, 0]), (tf.float32, ["1"])):
        with pytest.raises(errors.InvalidArgumentError, match="values of type"):
            read(value, dtype)
