"""JSON is converted to arrays exactly, or refused."""

import json

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from persia_tf import errors
from persia_tf.model_server.byte_budget import ByteBudget
from persia_tf.model_server.json_body import JsonBody
from persia_tf.model_server.served_signature import Signature
from persia_tf.native import capi


def read(value, dtype, *, rank=1, share=None):
    """Reads the array of a signature's only input, which is given in columns."""
    definition = meta_graph_pb2.SignatureDef()
    tensor = definition.inputs["x"]
    tensor.name, tensor.dtype = "x:0", dtype.as_datatype_enum
    for _ in range(rank):
        tensor.tensor_shape.dim.add(size=-1)
    signature = Signature("serving_default", None, definition)
    share = share or roomy()
    with JsonBody(json.dumps({"inputs": value}).encode(), share) as body:
        return body.read(signature, share)["x"]


def roomy():
    """The share of a request that may use much memory."""
    return ByteBudget(1 << 24, "--body-memory").share()


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
        (tf.uint64, [1, 2**64], "values of type float, or integers beyond 64 bits"),
        (tf.uint64, [2**63, -1], "-1, which is beyond uint64"),
        (tf.int64, [1, 2**63], "9223372036854775808, which is beyond int64"),
        (tf.int8, [128], "128, which is beyond int8"),
        (tf.int64, [1, 2.0], "values of type float, or integers beyond 64 bits"),
        (tf.int64, [True, 2], "values of type bool"),
        (tf.int64, ["1", None], "values of type string, null"),
        (tf.int64, [{"b64": "YQ=="}, {"b64": ""}], "values of type bytes"),
        (tf.string, [{"a": 1}], "values of type object"),
        (tf.string, [{"b64": "?"}], "'not base64: Only base64 data is allowed'"),
        (tf.int8, [-129, 0], "-129, which is beyond int8"),
        (tf.half, [True], "values of type bool"),
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


def test_texts_of_any_number():
    texts = [str(i) * (i % 7) for i in range(10_000)]
    array = read(texts, tf.string)
    assert array.tolist() == [text.encode() for text in texts]


def test_bytes_among_texts():
    values = [{"b64": "YQ=="}, "é", {"b64": ""}, ""]
    assert read(values, tf.string).tolist() == [b"a", "é".encode(), b"", b""]


@pytest.fixture
def handles(monkeypatch):
    """Counts native bodies that are not freed, with a library that records this."""
    library = capi.library()
    left = []

    class Counting:
        def __getattr__(self, name):
            return getattr(library, name)

        def persia_body_scan(self, *args):
            library.persia_body_scan(*args)
            left.append(None)

        def persia_body_free(self, handle):
            left.pop()
            library.persia_body_free(handle)

    monkeypatch.setattr(capi, "library", Counting)
    return left


def named(signature):
    return json.dumps(
        {"signature_name": signature, "inputs": 1}, ensure_ascii=False
    ).encode()


def test_a_signature_name_that_is_too_long_is_refused_and_frees_its_body(handles):
    with JsonBody(named("a" * 1022 + "é"), roomy()) as body:
        assert body.signature == "a" * 1022 + "é"
    # The limit is within the last character.
    with pytest.raises(errors.InvalidArgumentError, match="at most 1024 bytes"):
        JsonBody(named("a" * 1023 + "é"), roomy())
    assert not handles


def wide(columns):
    return json.dumps({"inputs": {str(i): 1 for i in range(columns)}}).encode()


def test_columns_are_charged_and_a_body_that_may_not_take_them_is_freed(handles):
    budget = ByteBudget(100 << 10, "--body-memory")
    with budget.share() as share, JsonBody(wide(100), share):
        assert budget.taken == 100 << 10
    with budget.share() as share:
        with pytest.raises(errors.PersiaError, match="raise --body-memory"):
            JsonBody(wide(101), share)
    assert budget.taken == 0 and not handles


def test_a_body_of_many_columns_is_wide():
    for columns, is_wide in ((1, False), (256, False), (257, True)):
        with JsonBody(wide(columns), roomy()) as body:
            assert body.is_wide == is_wide


def test_of_far_more_columns_than_inputs_none_is_looked_at(monkeypatch):
    monkeypatch.setattr(JsonBody, "_column", lambda self, index: 1 / 0)
    with pytest.raises(errors.InvalidArgumentError, match="Received: 4096"):
        read({str(i): 1 for i in range(4096)}, tf.int64)


def test_an_array_is_charged_before_it_is_made():
    budget = ByteBudget(12_000, "--body-memory")
    with budget.share() as share:
        assert read([1] * 400, tf.int64, share=share).tolist() == [1] * 400
        assert budget.taken == 1024 + 400 * 24
        with pytest.raises(errors.PersiaError, match="raise --body-memory") as refusal:
            read([1] * 400, tf.int64, share=share)
        assert refusal.value.code == 8
    assert budget.taken == 0
