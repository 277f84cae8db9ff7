"""What accuracy.py reads and writes."""

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
    assert table.features["C2"][0] not in (0, 0xFFFFFFFF)  # Absent: of its own.
    assert table.features["C26"][0] == 0xFFFFFFFF


def test_a_line_of_another_width_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"train.txt:2: .*40 fields.*got 39"):
        accuracy_data.read_criteo(write(tmp_path, LINE, LINE[:-1]))


def test_data_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"criteo needs train.txt in \$PERSIA_TF_DATA"):
        accuracy_data.directory_of("criteo", str(tmp_path))
    with pytest.raises(SystemExit, match="PERSIA_TF_DATA is None"):
        accuracy_data.directory_of("criteo", None)


def test_the_report_shows_differences_from_synchronous_training():
    def result(auc, differences, met):
        return {
            "auc": auc,
            "minus_sync": sum(differences) / len(differences),
            "minus_sync_of_each_seed": differences,
            "staleness_met": met,
            "steps": 100,
            "curve": [auc],
        }

    text = accuracy_report.text(
        {"adult": {"sync": result(0.9, [0.0], 0), "h": result(0.899, [-0.002, 0], 4)}},
        {"seeds": 2, "shards": 2, "delay_ms": 20},
        {"sync": "synchronous", "h": "hybrid"},
    )
    assert "| adult | synchronous | 100 | 0 | 0.9000 |  |" in text
    expected = "| adult | hybrid | 100 | 4 | 0.8990 | -0.0010 (-0.0020 to +0.0000) |"
    assert expected in text
