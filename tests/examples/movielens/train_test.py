"""Training on a small generated sample, with the rows in this process."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from movielens import train

SCRIPT = pathlib.Path(train.__file__)
SMALL = ["--generated", "--rows=20000", "--epochs=2", "--batch_size=512"]


@pytest.fixture(autouse=True)
def embedded(monkeypatch):
    monkeypatch.delenv("PERSIA_PS", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)


def auc_of_last_line(text):
    last = text.rstrip().splitlines()[-1]
    return float(re.match(r"test AUC (0\.\d{4}) \(generated sample, at most", last)[1])


@pytest.mark.slow
def test_the_script_prints_progress_and_ends_with_its_auc():
    # The script itself must find the modules of the other examples.
    path = os.pathsep.join(p for p in sys.path if p != str(SCRIPT.parents[1]))
    result = subprocess.run(
        [sys.executable, SCRIPT, *SMALL],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    assert "Epoch 2/2" in result.stdout
    assert 0.55 < auc_of_last_line(result.stdout) < 1


def test_the_check_learns_too(capsys):
    auc = train.main([*SMALL, "--embedding=keras"])
    assert auc_of_last_line(capsys.readouterr().out) == pytest.approx(auc, abs=1e-4)
    assert 0.55 < auc < 1
