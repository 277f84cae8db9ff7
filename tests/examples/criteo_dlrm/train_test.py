"""Training on a small generated sample, with the rows in this process."""

import re

import pytest
from criteo_dlrm import train

import persia_tf as ptf


@pytest.mark.parametrize(
    "embedding", ["persia", pytest.param("keras", marks=pytest.mark.slow)]
)
def test_training_ends_with_the_test_auc(embedding, capsys):
    options = ["--generated", "--rows=12000", "--epochs=2", f"--embedding={embedding}"]
    auc = train.main(options)
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    printed, best = re.match(r"test AUC (\S+) \(.*at most (0\.\d+)", last).groups()
    assert float(printed) == pytest.approx(auc, abs=1e-4)
    assert 0.6 < auc < float(best) < 1


@pytest.mark.slow
def test_rows_are_looked_up_ahead():
    before = ptf.metrics()["prefetch_hits"]
    train.main(["--generated", "--rows=2000"])
    assert ptf.metrics()["prefetch_hits"] > before
