"""What accuracy.py reads and writes."""

import accuracy
import accuracy_data
import accuracy_report
import numpy as np
import pytest

LINE = ["1", "3", "", "-2"] + [""] * 10 + ["0000000f", ""] + ["ffffffff"] * 24


def write(tmp_path, *lines):
    (tmp_path / "train.txt").write_text("".join("\t".join(x) + "\n" for x in lines))
    return tmp_path


def test_criteo_is_read_as_numbers_and_ids(tmp_path):
    table = accuracy_data.read_criteo(write(tmp_path, LINE, ["0", *LINE[1:]]))
    assert list(table.labels) == [1, 0]
    numbers = table.features["numbers"][0]
    np.testing.assert_allclose(numbers[:3], [np.log(4), 0, 0], rtol=1e-6)
    assert table.features["C1"][0] == 15
    assert table.features["C2"][0] not in (0, 0xFFFFFFFF)  # The id of an absent value.
    assert table.features["C26"][0] == 0xFFFFFFFF


def test_a_line_of_another_width_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"train.txt:2: .*40 fields.*got 39"):
        accuracy_data.read_criteo(write(tmp_path, LINE, LINE[:-1]))


def test_data_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"criteo needs train.txt in \$PERSIA_TF_DATA"):
        accuracy_data.directory_of("criteo", str(tmp_path))
    with pytest.raises(SystemExit, match="PERSIA_TF_DATA is None"):
        accuracy_data.directory_of("criteo", None)


def run(auc, staleness=0):
    return {
        "auc": auc,
        "aucs": [0.5, auc],
        "steps": 100,
        "staleness_max": staleness,
        "staleness_mean": staleness / 2,
        "rows": [40, 10],
        "batch": 8,
    }


TITLES = {"sync": "synchronous", "h": "hybrid"}
SETUP = {"shards": 2, "delay_ms": 20, "versions": {"keras": "3"}}


def figures(sync, hybrid):
    return {
        "adult": {
            "sync": accuracy.summary(sync, sync),
            "h": accuracy.summary(hybrid, sync),
        }
    }


def test_the_report_compares_each_seed_with_itself():
    shown = figures([run(0.9), run(0.8)], [run(0.898, 4), run(0.8, 3)])
    text = accuracy_report.text(shown, SETUP, TITLES)
    assert "| adult | synchronous | 0.0 (0) | 0.8500 ± 0.0707 |  |" in text
    assert (
        "| adult | hybrid | 1.8 (4) | 0.8490 ± 0.0693 "
        "| -0.0010 ± 0.0010 (-0.0020 to +0.0000) |"
    ) in text
    assert "| adult | 40 | 10 | 8 | 100 | 2 |" in text
    assert "keras 3" in text


def test_the_report_of_one_seed_has_no_deviation():
    text = accuracy_report.text(figures([run(0.9)], [run(0.9)]), SETUP, TITLES)
    assert (
        "| adult | hybrid | 0.0 (0) | 0.9000 | +0.0000 (+0.0000 to +0.0000) |" in text
    )
