"""`persia checkpoint ls` and `persia checkpoint verify`."""

import subprocess
import sys

import pytest

import persia_tf as ptf


@pytest.fixture
def checkpoint():
    """Runs the command; its exit code and its output."""

    def run(*arguments):
        command = [sys.executable, "-m", "persia_tf.commands.main", "checkpoint"]
        ended = subprocess.run(
            [*command, *map(str, arguments)], capture_output=True, text=True, timeout=60
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


@pytest.fixture
def saved(start_shards, tmp_path, table):
    """Saves a table of 30 rows twice; the two checkpoints' folders."""
    shards = start_shards(2, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address for shard in shards])
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    ptf.Table(table, cluster).assign(range(30), [[1.0] * 4] * 30)
    for _ in range(2):
        ptf.checkpoint.save(tmp_path, cluster=cluster)
    return tmp_path / "ckpt-00000001", tmp_path / "ckpt-00000002"


def test_lists_what_there_is(saved, checkpoint, tmp_path):
    (tmp_path / "ckpt-00000003").mkdir()
    code, output = checkpoint("ls", tmp_path)
    lines = output.splitlines()
    assert code == 0
    assert lines[0].startswith(f"{saved[0]}: 30 rows, ")
    assert ", 2 shards, " in lines[1]
    assert lines[2] == f"{tmp_path}/ckpt-00000003: unfinished"


def test_verifies_what_is_whole(saved, checkpoint, tmp_path):
    assert checkpoint("verify", tmp_path) == (
        0,
        f"{saved[0]}: OK, 30 rows\n{saved[1]}: OK, 30 rows\n",
    )
    assert checkpoint("verify", saved[1]) == (0, f"{saved[1]}: OK, 30 rows\n")


def test_says_which_is_damaged(saved, checkpoint, tmp_path):
    file = saved[0] / "shard-00001-of-00002"
    contents = bytearray(file.read_bytes())
    contents[40] ^= 1
    file.write_bytes(contents)
    code, output = checkpoint("verify", tmp_path)
    assert code == 1
    assert output.splitlines()[0].startswith(f"{saved[0]}: DAMAGED: {file}, ")
    assert output.splitlines()[1] == f"{saved[1]}: OK, 30 rows"


def test_a_file_of_another_checkpoint_is_found(saved, checkpoint):
    name = "shard-00000-of-00002"
    (saved[1] / name).write_bytes((saved[0] / name).read_bytes())
    code, output = checkpoint("verify", saved[1])
    assert code == 1
    assert "is of another checkpoint" in output


def test_a_damaged_manifest_is_told(saved, checkpoint):
    (saved[0] / "MANIFEST.json").write_text("{}")
    for action in ("ls", "verify"):
        code, output = checkpoint(action, saved[0])
        assert code == 1
        assert "MANIFEST.json is damaged" in output


def test_where_there_is_none_it_says_so(checkpoint, tmp_path):
    code, output = checkpoint("ls", tmp_path / "nothing")
    assert code == 1
    assert "there is no checkpoint at" in output
