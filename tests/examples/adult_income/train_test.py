"""Training on a small generated sample, with the rows in this process."""

import json
import re

import pytest
from adult_income import train


@pytest.mark.parametrize(
    "embedding", ["persia", pytest.param("keras", marks=pytest.mark.slow)]
)
def test_training_ends_with_the_test_auc(embedding, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("PERSIA_PS", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    report = tmp_path / "report.json"
    options = ["--generated", "--rows=8000", "--epochs=2", f"--json={report}"]
    auc = train.main([*options, f"--embedding={embedding}"])
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    printed, best = re.match(r"test AUC (\S+) \(.*at most (0\.\d+)", last).groups()
    assert float(printed) == pytest.approx(auc, abs=1e-4)
    assert 0.6 < auc < float(best) < 1
    assert json.loads(report.read_text()) == {
        "embedding": embedding,
        "training_rows": 8000,
        "test_auc": auc,
        "best_auc": pytest.approx(float(best), abs=1e-4),
    }
