"""The answers of the REST API."""

import base64
import json
import math

import numpy as np
import pytest

X = np.array([[1, 2], [3, 4], [-1, 0.5]], np.float32)


def b64(data):
    return {"b64": base64.b64encode(data).decode()}


def test_one_input_in_rows_needs_no_name(client):
    answer = client.post(":predict", {"instances": X.tolist()})
    assert answer == (200, {"predictions": (2 * X).tolist()})


def test_rows_of_named_inputs(client):
    rows = [{"words": "a", "counts": 1}, {"words": b64(b"\xfe"), "counts": 2**62}]
    code, answer = client.post(
        ":predict", {"signature_name": "describe", "instances": rows}
    )
    assert code == 200
    assert answer["predictions"] == [
        {"upper": "A", "digest_bytes": b64(b"a\xff"), "more": 2},
        {"upper": b64(b"\xfe"), "digest_bytes": b64(b"\xfe\xff"), "more": 2**62 + 1},
    ]


@pytest.mark.parametrize("inputs", [X.tolist(), {"x": X.tolist()}])
def test_columns(client, inputs):
    answer = client.post(":predict", {"inputs": inputs})
    assert answer == (200, {"outputs": (2 * X).tolist()})


def test_columns_of_several_outputs_are_named(client):
    columns = {"words": ["a", "b"], "counts": [1, 2]}
    code, answer = client.post(
        ":predict", {"signature_name": "describe", "inputs": columns}
    )
    assert code == 200
    assert answer["outputs"]["upper"] == ["A", "B"]
    assert answer["outputs"]["more"] == [2, 3]


def test_parts_of_ragged_tensors_are_columns(client):
    columns = {"items_values": [1, 2, 3.5], "items_row_splits": [0, 2, 2, 3]}
    answer = client.post(":predict", {"signature_name": "pool", "inputs": columns})
    assert answer == (200, {"outputs": [3, 0, 3.5]})


def test_nan_and_infinity_are_words(client):
    body = b'{"instances": [[NaN, 1], [Infinity, -Infinity]]}'
    code, answer = client.post(":predict", body)
    [[nan, two], infinite] = answer["predictions"]
    assert code == 200 and math.isnan(nan) and two == 2
    assert infinite == [math.inf, -math.inf]


def test_outputs_without_rows_in_common_need_columns(client):
    body = {"signature_name": "divide", "instances": [1.0, 2.0]}
    code, answer = client.post(":predict", body)
    assert code == 400 and 'ask with "inputs"' in answer["error"]
    body = {"signature_name": "divide", "inputs": [1.0, 2.0]}
    assert client.post(":predict", body) == (
        200,
        {"outputs": {"inverse": [1.0, 0.5], "total": 3.0}},
    )


def test_a_version_is_named_in_the_path(client):
    body = {"instances": [[1, 1]]}
    assert client.post("/versions/2:predict", body) == (200, {"predictions": [[2, 2]]})
    for absent in ("3", 5000 * "9"):
        code, answer = client.post(f"/versions/{absent}:predict", body)
        assert code == 404 and "does not serve" in answer["error"]
    assert "version 3 of model" in client.post("/versions/3:predict", body)[1]["error"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "must be JSON"),
        (b"", "must be JSON"),
        (b'{"inputs": ' + b"[" * 100_000, "at most 40 lists and objects"),
        (b"[]", 'either "instances" or "inputs"'),
        ({"instances": [[1, 2]], "inputs": [[1, 2]]}, "either"),
        ({"instances": []}, "at least one example"),
        ({"instances": {"x": 1}}, "must be a list"),
        ({"instances": [[1, 2], [3]]}, "lists of equal lengths"),
        ({"instances": [[1, "2"]]}, "input 'x' must be float32 of shape (any, 2)"),
        ({"instances": [1, 2]}, "Received: float32 of shape (2)"),
        ({"instances": [{"x": [1, 2]}, [1, 2]]}, "number 1 differs from the first"),
        ({"instances": [{"y": [1, 2]}]}, "missing: ['x']; unknown: ['y']"),
        ({"signature_name": "other", "inputs": []}, "no signature 'other'"),
        ({"signature_name": 3, "inputs": []}, "signature_name must be a string"),
        ({"signature_name": "describe", "inputs": ["a"]}, "must be given by name"),
        (
            {"signature_name": "describe", "inputs": {"words": ["a"], "counts": [1.5]}},
            "input 'counts' must be int64",
        ),
        (
            {
                "signature_name": "describe",
                "inputs": {"words": ["a"], "counts": [2**63]},
            },
            "input 'counts' must be int64",
        ),
        (
            {"signature_name": "describe", "inputs": {"words": [3], "counts": [1]}},
            "Received: values of type int",
        ),
        (
            {
                "signature_name": "describe",
                "inputs": {"words": [{"b64": "?"}], "counts": [1]},
            },
            "not base64",
        ),
        (
            {
                "signature_name": "describe",
                "inputs": {"words": [["a"], "b"], "counts": [1, 2]},
            },
            "lists of unequal lengths",
        ),
        ({"signature_name": "divide", "inputs": [-1.0]}, "no negative ones"),
    ],
)
def test_what_is_wrong_is_told(client, body, told):
    code, answer = client.post(":predict", body)
    assert code == 400 and told in answer["error"]


def test_an_unknown_model_or_page_is_not_found(client):
    code, text = client.get("/v1/models/other")
    assert code == 404 and "no model 'other'" in json.loads(text)["error"]
    code, text = client.get("/v2/other")
    assert code == 404 and "GET /v2/other" in json.loads(text)["error"]


def test_labels_and_other_methods_are_refused(client):
    code, answer = client.post("/labels/stable:predict", {"inputs": []})
    assert code == 400 and "'stable'" in answer["error"]
    code, answer = client.post(":classify", {"examples": []})
    assert code == 501 and ":classify" in answer["error"]


def test_a_body_that_is_too_large_is_refused(add_version, serve):
    add_version(1)
    client = serve(max_body_bytes=1000)
    code, answer = client.post(":predict", {"instances": [[1, 2]] * 1000})
    assert code == 413 and "error" in answer
    assert client.post(":predict", {"instances": [[1, 2]]})[0] == 200


def test_status_and_metadata(client):
    code, text = client.get("/v1/models/model")
    assert code == 200
    assert json.loads(text) == {
        "model_version_status": [
            {
                "version": "2",
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }
        ]
    }
    code, text = client.get("/v1/models/model/versions/2/metadata")
    told = json.loads(text)
    assert told["model_spec"] == {
        "name": "model",
        "signature_name": "",
        "version": "2",
    }
    signatures = told["metadata"]["signature_def"]["signature_def"]
    assert signatures["serving_default"]["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert signatures["serving_default"]["inputs"]["x"]["tensor_shape"] == {
        "dim": [{"size": "-1", "name": ""}, {"size": "2", "name": ""}],
        "unknown_rank": False,
    }


def test_numbers_are_as_exact_as_they_were(client):
    x = np.random.default_rng(1).random((50, 2)).astype(np.float32)
    _, answer = client.post(":predict", {"inputs": x.tolist()})
    np.testing.assert_array_equal(np.float32(answer["outputs"]), 2 * x)
