"""Standalone exports in programs that are not in Python, or without this library."""

import os
import subprocess
import sys

import c_program
import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras

pytestmark = pytest.mark.parametrize("cluster", [0], indirect=True)

COMMAND = "from tensorflow.python.tools.saved_model_cli import main; main()"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return c_program.build(tmp_path_factory.mktemp("program"))


@pytest.fixture(params=["float32"])
def exported(request, embedding, path):
    """Exports a model of two inputs; gives what it answers to some ids."""
    inputs = [keras.Input((), dtype="int64", name=name) for name in ("user", "film")]
    vectors = [embedding(one.name.split(":")[0])(one) for one in inputs]
    joined = keras.layers.Concatenate()(vectors)
    model = keras.Model(inputs, keras.layers.Dense(3, name="score")(joined))
    ids = {"user": np.array([3, -7, 2**62]), "film": np.array([1, 0, 5])}
    model(list(ids.values()), training=True)  # Makes rows.
    ids["film"][1] = 99  # Without one.
    ptf.serving.export(model, path, row_dtype=request.param)
    expected = np.asarray(model(list(ids.values()), training=False))
    tolerance = 1e-6 if request.param == "float32" else 1e-2
    return ids, expected, tolerance


@pytest.mark.parametrize("exported", ["float32", "float16", "int8"], indirect=True)
def test_a_c_program_gets_what_the_model_answers(exported, path, program):
    ids, expected, tolerance = exported
    found = c_program.run(program, path, ids, "score").reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.slow
def test_tensorflows_command_gets_what_the_model_answers(exported, path, tmp_path):
    ids, expected, tolerance = exported
    np.savez(tmp_path / "ids.npz", **ids)
    inputs = ";".join(f"{name}={tmp_path}/ids.npz[{name}]" for name in ids)
    subprocess.run(
        [
            *(sys.executable, "-c", COMMAND, "run", "--dir", path),
            *("--tag_set", "serve", "--signature_def", "serving_default"),
            *("--inputs", inputs, "--outdir", str(tmp_path)),
        ],
        check=True,
        timeout=120,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    found = np.load(tmp_path / "score.npy")
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
