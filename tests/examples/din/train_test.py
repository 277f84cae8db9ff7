"""Training on a small generated sample, with the rows in this process."""

import re

import pytest
from din import train


@pytest.mark.parametrize(
    "embedding", ["persia", pytest.param("keras", marks=pytest.mark.slow)]
)
def test_training_ends_with_the_test_auc(embedding, capsys):
    options = ["--generated", "--rows=20000", "--batch_size=256"]
    auc = train.main([*options, f"--embedding={embedding}"])
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    printed, best = re.match(r"test AUC (\S+) \(.*at most (0\.\d+)", last).groups()
    assert float(printed) == pytest.approx(auc, abs=1e-4)
    assert 0.6 < auc < float(best) < 1
