"""Exports that ask shards, in programs without this library."""

import os
import subprocess
import sys

import c_program
import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras

# Programs that cannot import this library.
LOAD = """
import sys
sys.modules["persia_tf"] = None
import numpy as np
import tensorflow as tf
path, library, answer = sys.argv[1:]
if library:
    tf.load_op_library(library)
serve = tf.saved_model.load(path).signatures["serving_default"]
np.save(answer, serve(ids=tf.range(8, dtype=tf.int64))["rows"])
"""
COMMAND = "from tensorflow.python.tools.saved_model_cli import main; main()"
HINT = "Op type not registered 'PersiaRemoteLookup_of_persia_ops_so'"
IDS = np.arange(8)


@pytest.fixture
def cluster(start_shards):
    shards = start_shards(2)
    return ptf.Cluster([shard.address for shard in shards], timeout=20)


@pytest.fixture
def expected(embedding, path):
    """Makes an export; gives the rows that it must return for `IDS`."""
    ids = keras.Input((), dtype="int64", name="ids")
    rows = keras.layers.Activation("linear", name="rows")
    model = keras.Model(ids, rows(embedding("ids")(ids)))
    found = np.asarray(model(IDS, training=True))
    ptf.flush()
    ptf.serving.export(model, path, mode="remote")
    return found


def python(*arguments):
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_tensorflow_with_the_op_library(expected, path, tmp_path):
    answer = str(tmp_path / "answer.npy")
    ended = python(LOAD, path, ptf.serving.op_library(), answer)
    assert ended.returncode == 0, ended.stderr
    np.testing.assert_array_equal(np.load(answer), expected)


def test_without_the_op_library_the_error_names_it(expected, path, tmp_path):
    ended = python(LOAD, path, "", str(tmp_path / "answer.npy"))
    assert ended.returncode != 0
    assert HINT in ended.stderr


@pytest.mark.slow
def test_tensorflows_command_shows_it_and_names_what_it_lacks(expected, path, tmp_path):
    model = ["--dir", path, "--tag_set", "serve", "--signature_def", "serving_default"]
    shown = python(COMMAND, "show", *model)
    assert shown.returncode == 0
    assert "inputs['ids']" in shown.stdout
    np.save(tmp_path / "ids.npy", IDS)
    ended = python(COMMAND, "run", *model, f"--inputs=ids={tmp_path}/ids.npy")
    assert ended.returncode != 0
    assert HINT in ended.stderr


def test_a_c_program_with_the_op_library(expected, path, tmp_path):
    program = c_program.build(tmp_path)
    library = ptf.serving.op_library()
    found = c_program.run(program, path, {"ids": IDS}, "rows", library)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
