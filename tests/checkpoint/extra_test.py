"""What a program adds to a checkpoint comes back, or is known to be damaged."""

import subprocess
import sys

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf.checkpoint import extra_files


@pytest.fixture
def saved(tmp_path, table):
    ptf.layers.PersiaEmbedding(2, table=table)(np.arange(3))
    ptf.Table(table).assign(np.arange(3), np.ones((3, 2)))

    def save(extra, **options):
        path = tmp_path / "run"
        return ptf.checkpoint.save(path, extra=extra, **options).folder

    return save


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(extra_files, "_PIECE_BYTES", 4)


@pytest.mark.parametrize("extra", [b"", b"1234", b"123456789"])
def test_bytes_come_back(saved, extra, small_pieces):
    saved(b"older")
    folder = saved(extra, incremental=True)
    ptf.checkpoint.compact(folder)
    assert ptf.checkpoint.read_extra(folder) == extra
    assert ptf.checkpoint.read_extra(ptf.checkpoint.restore(folder)) == extra


def verify(folder):
    ended = subprocess.run(
        [sys.executable, "-m", "persia_tf.commands.main", "checkpoint", "verify"]
        + [folder],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_bytes_that_were_damaged_are_found(saved, small_pieces):
    folder = saved(b"123456789")
    code, output = verify(folder)
    assert code == 0
    assert output.endswith(" rows, 9 bytes of the program\n")
    with open(f"{folder}/extra-00001-of-00003", "r+b") as file:
        file.seek(5)
        file.write(b"x")
    with pytest.raises(errors.DataLossError, match="extra-00001-of-00003 is damaged"):
        ptf.checkpoint.read_extra(folder)
    code, output = verify(folder)
    assert code == 1
    assert "extra-00001-of-00003 is damaged" in output
