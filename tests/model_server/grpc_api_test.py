"""The answers of the gRPC services."""

import gc
import weakref

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

from persia_tf import errors
from persia_tf.model_server import grpc_api, served_signature

PredictRequest = predict_pb2.PredictRequest

X = np.array([[1, 2], [3, 4], [-1, 0.5]], np.float32)


def test_predictions_are_the_models(client):
    np.testing.assert_array_equal(client.predict(x=X)["scaled"], 2 * X)


def test_the_answer_names_model_version_and_signature(client):
    spec = client.predictions.Predict(client.request(x=X), timeout=60).model_spec
    assert (spec.name, spec.version.value) == ("model", 2)
    assert spec.signature_name == "serving_default"


def test_a_signature_takes_and_gives_strings(client):
    outputs = client.predict(
        "describe", words=np.array([b"a", "é".encode()], object), counts=[1, 2**62]
    )
    assert outputs["upper"].tolist() == [b"A", "é".encode()]
    assert outputs["digest_bytes"].tolist() == [b"a\xff", b"\xc3\xa9\xff"]
    assert outputs["more"].tolist() == [2, 2**62 + 1]


def test_parts_of_ragged_tensors(client):
    outputs = client.predict(
        "pool",
        items_values=np.array([1, 2, 3], np.float32),
        items_row_splits=np.array([0, 2, 2, 3]),
    )
    assert outputs["sums"].tolist() == [3, 0, 3]


def test_no_examples_at_all(client):
    assert client.predict(x=X[:0])["scaled"].shape == (0, 2)


def test_an_output_filter_leaves_the_others_out(client):
    request = client.request("describe", words=[b"a"], counts=np.array([1]))
    request.output_filter.append("more")
    assert list(client.predictions.Predict(request, timeout=60).outputs) == ["more"]


@pytest.mark.parametrize("names", [["other"], ["more", "more"]])
def test_an_output_filter_of_other_names_is_refused(client, names):
    request = client.request("describe", words=[b"a"], counts=np.array([1]))
    request.output_filter.extend(names)
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT"
    assert "['digest_bytes', 'more', 'upper']" in message and names[-1] in message


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ({"name": "other"}, "NOT_FOUND", "no model 'other'; this server has 'model'"),
        ({"version": 7}, "NOT_FOUND", "'model' does not serve; these do: [2]"),
        ({"signature": "other"}, "INVALID_ARGUMENT", "no signature 'other': name one"),
    ],
)
def test_what_is_not_there_is_told(client, options, code, told):
    request = client.request(x=X, **options)
    found, message = client.refusal(client.predictions.Predict, request)
    assert found == code and told in message


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ({}, "takes the inputs ['x']. Received: []; missing: ['x']"),
        ({"x": X, "y": X}, "unknown: ['y']"),
        (
            {"x": X.astype(np.float64)},
            "input 'x' of signature 'serving_default' must be float32 of shape "
            "(any, 2). Received: float64 of shape (3, 2)",
        ),
        ({"x": X[0]}, "Received: float32 of shape (2)"),
        ({"x": X[:, :1]}, "Received: float32 of shape (3, 1)"),
        ({"x": np.array([b"text"], object)}, "Received: string of shape (1)"),
    ],
)
def test_wrong_inputs_are_told(client, inputs, told):
    request = client.request(**inputs)
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT" and told in message


def broken_tensors():
    short = tf.make_tensor_proto(X)
    short.tensor_content = short.tensor_content[:-1]
    yield short, "as many values as its shape (3, 2) says"
    unknown = tf.make_tensor_proto(X)
    unknown.tensor_shape.dim[0].size = -1
    yield unknown, "a shape that is known"
    vast = tf.make_tensor_proto(np.float32(1))
    for _ in range(2):
        vast.tensor_shape.dim.add(size=2**31)
    yield vast, "inputs must have at most"
    deep = tf.make_tensor_proto(X)
    for _ in range(32):
        deep.tensor_shape.dim.add(size=1)
    yield deep, "must have at most 32 dimensions. Received: 34"
    untyped = tf.make_tensor_proto(X)
    untyped.dtype = 0
    yield untyped, "input 'x'"
    beyond = tf.make_tensor_proto(X)
    beyond.dtype = 999
    yield beyond, "must be float32 of shape (any, 2). Received: unknown type number 999"
    for dtype in (tf.resource, tf.variant):
        handle = tf.make_tensor_proto(X)
        handle.dtype = dtype.as_datatype_enum
        yield handle, f"Received: {dtype.name} of shape (3, 2)"
    reference = tf.make_tensor_proto(X)
    reference.dtype = types_pb2.DT_FLOAT_REF
    yield reference, "Received: float32_ref"


@pytest.mark.parametrize(("tensor", "told"), list(broken_tensors()))
def test_a_broken_tensor_is_told(client, tensor, told):
    request = client.request()
    request.inputs["x"].CopyFrom(tensor)
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT" and told in message


LONG = "x" * 1_000_000


@pytest.mark.parametrize("place", ["model", "signature", "label", "input", "filter"])
def test_what_a_client_named_is_told_in_short(client, place):
    request = client.request(x=X)
    if place == "model":
        request.model_spec.name = LONG
    elif place == "signature":
        request.model_spec.signature_name = LONG
    elif place == "label":
        request.model_spec.version_label = LONG
    elif place == "input":
        request.inputs[LONG].CopyFrom(tf.make_tensor_proto(X))
    else:
        request.output_filter.append(LONG)
    _, message = client.refusal(client.predictions.Predict, request)
    assert "xxx...xxx" in message and len(message) < 1000


def test_metadata_that_a_client_named_are_told_in_short(client):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = "model"
    request.metadata_field.extend([LONG[:20_000]] * 3)
    _, message = client.refusal(client.predictions.GetModelMetadata, request)
    assert "xxx...xxx" in message and len(message) < 1000


def test_what_a_model_says_of_its_input_is_told_in_short(client, monkeypatch):
    def fail(signature, arrays):
        raise errors.InvalidArgumentError(f"no such word: {arrays['x'].tobytes()!r}")

    monkeypatch.setattr(served_signature.Signature, "run", fail)
    _, message = client.refusal(client.predict, x=np.ones((10_000, 2), np.float32))
    assert message.startswith("no such word") and message.endswith("(cut)")
    assert len(message) <= 2000


def blown_up(dtype, size):
    """A tensor with one value, which stands for `size` values."""
    tensor = tf.make_tensor_proto(np.zeros(1, dtype))
    tensor.tensor_shape.dim[0].size = size
    return tensor


@pytest.fixture
def made(monkeypatch):
    """The tensors that were converted to arrays."""
    found = []
    make = tf.make_ndarray

    def record(message):
        found.append(message)
        return make(message)

    monkeypatch.setattr(tf, "make_ndarray", record)
    return found


def test_no_array_is_made_of_unknown_inputs(client, made):
    request = client.request(x=X)
    for number in range(15):
        request.inputs[f"unknown{number:04}"].CopyFrom(blown_up(np.int64, 1 << 20))
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT"
    assert "unknown: ['unknown0000', 'unknown0001'" in message and len(message) < 2000
    assert not made


def test_of_many_unknown_inputs_only_the_number_is_told(client, made):
    request = client.request(x=X)
    for number in range(2000):
        request.inputs[f"unknown{number:04}"].CopyFrom(blown_up(np.int64, 1 << 20))
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT"
    assert message.endswith("is 1. Received: 2001")
    assert not made


def test_inputs_together_are_bounded(add_version, serve, made):
    add_version(1)
    client = serve(max_message_bytes=10_000)
    request = client.request("pool")
    for name, dtype in (("items_values", np.float32), ("items_row_splits", np.int64)):
        request.inputs[name].CopyFrom(blown_up(dtype, 1000))
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT"
    assert "must have at most 10000 bytes together. Received: 12000" in message
    assert not made


def test_what_fails_in_the_model_is_told_in_its_own_words(client):
    code, message = client.refusal(
        client.predict, "divide", x=np.array([-1], np.float32)
    )
    assert code == "INVALID_ARGUMENT" and "no negative ones" in message


@pytest.fixture
def uncollected():
    """Turns garbage collection off, so that cycles of references stay in memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("error", [errors.InvalidArgumentError, ValueError])
@pytest.mark.parametrize("options", [{}, {"max_batch_size": 64}])
def test_a_refused_prediction_is_freed_at_once(
    add_version, serve, monkeypatch, eventually, options, error
):
    add_version(1)
    client = serve(**options)
    # Log records would keep the error alive.
    monkeypatch.setattr(grpc_api._logger, "disabled", True)
    arrays = []

    def fail(signature, inputs):
        arrays.append(weakref.ref(inputs["x"]))
        raise error("no such word")

    monkeypatch.setattr(served_signature.Signature, "run", fail)
    client.refusal(client.predict, x=X)
    assert arrays
    eventually(lambda: all(array() is None for array in arrays), "it is freed")


def test_a_label_is_no_version(client):
    request = client.request(x=X)
    request.model_spec.version_label = "stable"
    code, message = client.refusal(client.predictions.Predict, request)
    assert code == "INVALID_ARGUMENT" and "'stable'" in message


def test_a_request_that_is_too_large_is_refused(add_version, serve):
    add_version(1)
    client = serve(max_message_bytes=10_000)
    code, _ = client.refusal(client.predict, x=np.zeros((2000, 2), np.float32))
    assert code == "RESOURCE_EXHAUSTED"
    assert client.predict(x=X)["scaled"].shape == (3, 2)


def elements(place, count):
    """A request with `count` empty elements in one place."""
    request = PredictRequest()
    request.model_spec.name = "model"
    if place == "inputs":
        # A client may send many inputs with one name.
        return request.SerializeToString() + b"\x12\x00" * count
    if place == "output_filter":
        request.output_filter.extend([""] * count)
    elif place == "dim":
        for _ in range(count):
            request.inputs["x"].tensor_shape.dim.add()
    elif place == "nested":
        # In the request's only variant.
        tensor = request.inputs["x"].variant_val.add().tensors.add()
        tensor.string_val.extend([b""] * count)
    else:
        repeated = getattr(request.inputs["x"], place)
        for _ in range(count):
            repeated.add()
    return request.SerializeToString()


@pytest.fixture
def decoded(monkeypatch):
    """The sizes of the requests for predictions that protobuf has decoded."""
    sizes = []

    class Recording:
        SerializeToString = PredictRequest.SerializeToString

        @staticmethod
        def FromString(serialized):  # noqa: N802
            sizes.append(len(serialized))
            return PredictRequest.FromString(serialized)

    monkeypatch.setattr(predict_pb2, "PredictRequest", Recording)
    return sizes


PREDICT = "/tensorflow.serving.PredictionService/Predict"


def ask(client, serialized, method=PREDICT):
    return client.channel.unary_unary(method)(serialized, timeout=60)


@pytest.mark.parametrize(
    "place",
    ["inputs", "dim", "output_filter", "resource_handle_val", "variant_val", "nested"],
)
def test_many_elements_are_refused_before_they_are_decoded(
    add_version, serve, decoded, place
):
    add_version(1)
    client = serve()
    code, message = client.refusal(ask, client, elements(place, 40_000))
    assert code == "RESOURCE_EXHAUSTED" and "at most 32768 fields" in message
    assert not decoded
    # Only that request is refused, and not those after it.
    code, _ = client.refusal(ask, client, elements(place, 4))
    assert code == "INVALID_ARGUMENT" and len(decoded) == 1
    text = client.get("/metrics")[1]
    assert 'requests_total{api="grpc",code="RESOURCE_EXHAUSTED"} 1.0' in text


@pytest.mark.parametrize(
    ("values", "value", "most"),
    [("string_val", b"", 5000), ("int64_val", 1, 10_000), ("int_val", 1, 20_000)],
)
def test_values_are_refused_for_what_they_take_decoded(
    add_version, serve, decoded, values, value, most
):
    add_version(1)
    client = serve(max_message_bytes=80_001)  # 80,000, and the input's name.
    message = client.request()
    message.model_spec.Clear()
    getattr(message.inputs["x"], values).extend([value] * most)
    code, _ = client.refusal(ask, client, message.SerializeToString())
    assert code == "NOT_FOUND" and len(decoded) == 1  # It has no model name.
    getattr(message.inputs["x"], values).append(value)
    code, told = client.refusal(ask, client, message.SerializeToString())
    assert code == "RESOURCE_EXHAUSTED" and len(decoded) == 1
    assert "must take at most 80001 bytes" in told


def test_a_prediction_that_is_not_well_formed_is_told(client):
    for serialized in (b"\x12", b"\xff" * 20, b"\x0a\x03\x0a\x01\xff"):
        code, _ = client.refusal(ask, client, serialized)
        assert code == "INVALID_ARGUMENT", serialized


@pytest.mark.parametrize(
    "method",
    [
        "/tensorflow.serving.PredictionService/GetModelMetadata",
        "/tensorflow.serving.ModelService/GetModelStatus",
        "/grpc.health.v1.Health/Check",
    ],
)
def test_a_request_without_tensors_has_few_bytes(client, method):
    code, message = client.refusal(ask, client, b"\x0a\x00" * 40_000, method)
    assert code == "RESOURCE_EXHAUSTED"
    assert message.endswith("may have at most 65536 bytes. Received: 80000")


def test_a_request_of_all_kinds_of_values_is_decoded(client):
    message = client.request(x=X)
    for field in message.inputs["x"].DESCRIPTOR.fields:
        values = getattr(message.inputs["x"], field.name)
        if field.name in ("resource_handle_val", "variant_val"):
            values.add()
        elif field.name == "string_val":
            values.append(b"a")
        elif field.name.endswith("_val") and field.name != "float8_val":
            values.append(1)
    # Either the values of the right type are used, or the content.
    assert ask(client, message.SerializeToString())


def test_metadata_are_the_signatures(client):
    response = client.metadata()
    assert response.model_spec.version.value == 2
    definitions = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(definitions)
    described = definitions.signature_def["describe"]
    assert described.inputs["words"].dtype == tf.string.as_datatype_enum
    assert sorted(described.outputs) == ["digest_bytes", "more", "upper"]


def test_other_metadata_are_refused(client):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = "model"
    request.metadata_field.append("other")
    code, message = client.refusal(client.predictions.GetModelMetadata, request)
    assert code == "INVALID_ARGUMENT" and "['signature_def']" in message


def test_of_many_metadata_the_number_is_told(client):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = "model"
    request.metadata_field.extend(["signature_def"] * 3000)
    _, message = client.refusal(client.predictions.GetModelMetadata, request)
    assert (
        "Received: 3000 fields, ['signature_def', " in message and len(message) < 1000
    )


def test_the_status_of_one_version(client):
    assert client.versions() == {2: "AVAILABLE"}
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "model"
    request.model_spec.version.value = 9
    code, message = client.refusal(client.models.GetModelStatus, request)
    assert code == "NOT_FOUND" and "version 9" in message


@pytest.mark.parametrize(
    ("service", "method", "request_type"),
    [
        ("predictions", "Classify", classification_pb2.ClassificationRequest),
        ("predictions", "Regress", regression_pb2.RegressionRequest),
        (
            "models",
            "HandleReloadConfigRequest",
            model_management_pb2.ReloadConfigRequest,
        ),
    ],
)
def test_methods_that_it_has_not_say_so(client, service, method, request_type):
    call = getattr(getattr(client, service), method)
    code, message = client.refusal(call, request_type())
    assert code == grpc.StatusCode.UNIMPLEMENTED.name
    assert method in message
