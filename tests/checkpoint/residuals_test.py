"""Checkpoints of programs whose gradients are sent as int4, with error feedback."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.checkpoint.manifest import Manifest

IDS = np.arange(50, dtype="int64")


class Run:
    """Trains the rows of IDS with given gradients."""

    def __init__(self, addresses, table, wire_dtype="int4", timeout=20.0):
        self.cluster = ptf.Cluster(
            addresses, timeout=timeout, staleness=0, wire_dtype=wire_dtype
        )
        self.table = ptf.Table(table, cluster=self.cluster)
        self.layer = ptf.layers.PersiaEmbedding(
            8,
            table=table,
            cluster=self.cluster,
            embeddings_initializer="zeros",
            optimizer=ptf.optimizers.Adagrad(0.1),
        )

    def step(self, seed):
        gradients = np.random.default_rng(seed).normal(size=(len(IDS), 8))
        with tf.GradientTape() as tape:
            rows = self.layer(tf.constant(IDS), training=True)
            loss = tf.reduce_sum(rows * gradients.astype("float32"))
        variables = self.layer.trainable_variables
        keras.optimizers.SGD().apply_gradients(
            zip(tape.gradient(loss, variables), variables)
        )

    def rows(self):
        return {
            int(one): (tuple(row), tuple(state))
            for page in self.table.export()
            for one, row, state in zip(page.ids, page.rows, page.state)
        }


@pytest.fixture
def start(start_shards, tmp_path):
    """Starts shards; gives their addresses."""

    def start(count):
        shards = start_shards(count, checkpoint_root=str(tmp_path))
        return [shard.address for shard in shards]

    return start


def test_training_goes_on_as_if_it_had_not_been_interrupted(table, start):
    run = Run(start(2), table)
    for seed in range(3):
        run.step(seed)
    ptf.checkpoint.save("run", cluster=run.cluster)
    for seed in range(3, 6):
        run.step(seed)
    meant = run.rows()
    # In this program, which has residuals of its own by now.
    ptf.checkpoint.restore("run", cluster=run.cluster)
    for seed in range(3, 6):
        run.step(seed)
    assert run.rows() == meant
    # In another program, with other shards.
    other = Run(start(3), table)
    ptf.checkpoint.restore("run", cluster=other.cluster)
    for seed in range(3, 6):
        other.step(seed)
    assert other.rows() == meant


def test_an_increment_has_the_residuals_of_its_time(table, start):
    run = Run(start(2), table)
    for seed in range(3):
        run.step(seed)
        ptf.checkpoint.save("run", cluster=run.cluster, incremental=True)
    run.step(7)
    meant = run.rows()
    ptf.checkpoint.restore("run", cluster=run.cluster)
    run.step(7)
    assert run.rows() == meant


def test_a_checkpoint_without_residuals_is_restored_without_any(table, start, tmp_path):
    addresses = start(1)
    plain = Run(addresses, table, "float32", timeout=19.0)
    plain.step(1)
    ptf.checkpoint.save("plain", cluster=plain.cluster)
    manifest = tmp_path / "plain" / "ckpt-00000001" / "MANIFEST.json"
    assert json.loads(manifest.read_text())["format"] == 2
    plain.step(2)
    run = Run(addresses, table)
    run.step(3)
    assert ptf.metrics()["feedback_ids"] >= len(IDS)
    ptf.checkpoint.restore("plain", cluster=run.cluster)
    assert run.cluster.session.counters()["feedback_ids"] == 0


def test_a_program_without_feedback_does_not_use_residuals(table, start, caplog):
    run = Run(start(1), table)
    run.step(1)
    ptf.checkpoint.save("run", cluster=run.cluster)
    saved = run.rows()
    plain = Run(run.cluster.shards, table, "float32", timeout=19.0)
    ptf.checkpoint.restore("run", cluster=plain.cluster)
    assert "had yet to send" in caplog.text
    assert plain.rows() == saved


@pytest.fixture
def damaged(table, start, tmp_path):
    """Gives a run, its checkpoint's file of residuals, and its rows."""
    run = Run(start(1), table)
    run.step(1)
    ptf.checkpoint.save("run", cluster=run.cluster)
    run.step(2)
    [file] = (tmp_path / "run" / "ckpt-00000001").glob("residuals-*")
    return run, file, run.rows()


def test_a_damaged_file_changes_nothing(damaged):
    run, file, rows = damaged
    contents = bytearray(file.read_bytes())
    contents[100] ^= 1
    file.write_bytes(contents)
    with pytest.raises(errors.DataLossError, match="residuals"):
        ptf.checkpoint.restore("run", cluster=run.cluster)
    assert run.rows() == rows
    assert run.cluster.session.counters()["feedback_ids"] == len(IDS)


def test_a_missing_file_changes_nothing(damaged):
    run, file, rows = damaged
    file.unlink()
    with pytest.raises(errors.PersiaError, match="residuals"):
        ptf.checkpoint.restore("run", cluster=run.cluster)
    assert run.rows() == rows


def verify(folder):
    """Runs `persia checkpoint verify`; gives its exit code and its output."""
    ended = subprocess.run(
        [*(sys.executable, "-m", "persia_tf.commands.main"), "checkpoint", "verify"]
        + [str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_verify_reads_the_files(damaged):
    _, file, _ = damaged
    assert verify(file.parent) == (
        0,
        f"{file.parent}: OK, 50 rows, residuals of 50 ids\n",
    )
    contents = bytearray(file.read_bytes())
    contents[100] ^= 1
    file.write_bytes(contents)
    code, output = verify(file.parent)
    assert code == 1
    assert "file 0 of 1 with residuals is damaged: its checksum differs" in output
    file.unlink()
    code, output = verify(file.parent)
    assert code == 1
    assert file.name in output


def test_the_manifest_names_the_files():
    manifest = Manifest(1, ("shard",), 2, 3, "now", residuals=("residuals-0",))
    assert Manifest.from_bytes(manifest.to_bytes(), "run") == manifest
    fields = json.loads(manifest.to_bytes())
    fields["residuals"] = ["../elsewhere"]
    with pytest.raises(errors.DataLossError, match="residuals"):
        Manifest.from_bytes(json.dumps(fields).encode(), "run")
