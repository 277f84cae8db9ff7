"""Answers that are written in parts equal the JSON of the whole."""

import json

import numpy as np
import pytest

from persia_tf import errors
from persia_tf.model_server import json_answers
from persia_tf.model_server.byte_budget import ByteBudget


def written(outputs, in_rows, budget=None):
    with (budget or ByteBudget(1 << 30, "")).share() as share:
        return json.loads(json_answers.answer(outputs, in_rows, share))


def strings(count):
    array = np.empty(count, object)
    array[:] = [str(i).encode() for i in range(count)]
    return array


ARRAYS = [
    np.float32(1.5),
    np.arange(0),
    np.arange(3),
    np.arange(5000),
    np.arange(30_000, dtype=np.float64).reshape(10_000, 3) / 7,
    np.arange(6000).reshape(2, 3000),
    np.arange(6000).reshape(1, 2, 3000),
    np.arange(6000).reshape(3000, 2, 1),
    np.zeros((3000, 0)),
    np.ones(2000, bool),
]


@pytest.mark.parametrize("array", ARRAYS)
def test_columns(array):
    array = np.asarray(array)
    assert written({"y": array}, False) == {"outputs": array.tolist()}
    assert written({"y": array, "z": array[..., None]}, False) == {
        "outputs": {"y": array.tolist(), "z": array[..., None].tolist()}
    }


@pytest.mark.parametrize("array", ARRAYS[1:])
def test_rows(array):
    assert written({"y": array}, True) == {"predictions": array.tolist()}
    words = strings(len(array))
    assert written({"y": array, "w": words}, True) == {
        "predictions": [
            {"y": row, "w": word.decode()}
            for row, word in zip(array.tolist(), words.tolist())
        ]
    }


def test_an_answer_is_charged_until_it_is_sent():
    budget = ByteBudget(20_000, "--body-memory")
    with budget.share() as share:
        text = json_answers.answer({"y": np.zeros(1500)}, True, share)
        assert budget.taken == 2 * len(text)
        with pytest.raises(errors.PersiaError, match="--body-memory"):
            json_answers.answer({"y": np.zeros(3000)}, True, share)
    assert budget.taken == 0


def test_the_size_of_outputs():
    outputs = {"y": np.zeros((3, 4), np.float32), "w": strings(1000)}
    assert json_answers.size(outputs) == 48 + 1000 * 56 + 10 + 90 * 2 + 900 * 3
