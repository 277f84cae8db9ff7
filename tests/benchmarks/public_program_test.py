"""Programs that do not know this library, with its layer in place of Keras's."""

import json
import os
import subprocess
import sys

import native_programs
import public_program
import pytest

PROGRAM = """
import numpy as np
import tensorflow as tf

random = np.random.default_rng(0)
users = random.integers(0, 50, 512)
clicks = ((users + (random.random(512) < 0.2)) % 2).astype("float32")[:, None]
model = tf.keras.Sequential(
    [
        tf.keras.Input((), dtype="int64"),
        tf.keras.layers.Embedding(50, 8),
        tf.keras.layers.Dense(1),
    ]
)
loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(tf.keras.optimizers.Adam(0.05), loss)
model.fit(users, clicks, epochs=4, verbose=0)
print("of the program", model.evaluate(users, clicks, verbose=0))
"""


def run(folder, program, *options):
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [
            sys.executable,
            native_programs.ROOT / "benchmarks/public_program.py",
            "program.py",
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_a_program_learns_alike_with_either_layer(tmp_path):
    ended = run(tmp_path, PROGRAM)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["tables"] == ["embedding_1"]
    own, swapped = found["figures"]["fit 1: loss"]
    assert 0.2 < own < 0.6
    assert swapped == pytest.approx(own, rel=0.05)
    assert found["figures"].keys() == {"fit 1: loss", "evaluate 1: loss"}
    assert "of the program" not in ended.stdout


@pytest.mark.slow
def test_edits_are_of_the_swapped_layer_alone_and_set_up_of_both(tmp_path):
    (tmp_path / "edits.py").write_text(
        'SETUP = [("epochs=4", "epochs=1")]\n'
        'EDITS = [("Embedding(50, 8)", "Embedding(50, 4)")]\n'
    )
    ended = run(tmp_path, PROGRAM, "--edits", "edits.py", "--shards", "1")
    assert ended.returncode == 0, ended.stderr
    own, swapped = json.loads(ended.stdout.splitlines()[-1])["figures"]["fit 1: loss"]
    assert own != swapped


def test_an_edit_of_what_is_not_there_is_refused():
    assert public_program.edited("a b", [("a", "c")]) == "c b"
    with pytest.raises(SystemExit, match="the program has no 'd'"):
        public_program.edited("a b", [("d", "c")])


def test_runs_are_compared_by_fit_and_name():
    own = {"fit": [{"loss": 1.0, "auc": 0.5}], "evaluate": [{"loss": 2.0}]}
    swapped = {"fit": [{"loss": 1.5}], "evaluate": [{"loss": 2.5}]}
    assert public_program.compared(own, swapped) == {
        "evaluate 1: loss": (2.0, 2.5),
        "fit 1: loss": (1.0, 1.5),
    }
