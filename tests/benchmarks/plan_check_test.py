"""The table of predictions against measurement in docs/planning.md."""

import plan_check
import pytest


@pytest.fixture
def checked():
    def found(shards, error, within):
        errors = dict.fromkeys(plan_check._COLUMNS, error)
        return {"shards": shards, "errors": errors, "rows_within": within}

    return {"even": found(2, 0.01, 1), "uneven": found(8, -0.05, 0.5)}


def test_it_has_a_line_for_each_set_up_and_those_of_all(checked):
    lines = plan_check.markdown(checked, plan_check.summary(checked)).splitlines()
    assert "75% hold the measured number" in lines[0]
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert {len(row) for row in table} == {len(plan_check._COLUMNS) + 2}
    assert table[0][:3] == ["set-up", "shards", "rows"]
    assert table[2][:3] == ["even", "2", "+1.0%"]
    assert table[3][:3] == ["uneven", "8", "-5.0%"]
    assert table[4][1:3] == ["the worst", "5.0%"]
    assert table[5][1:3] == ["the median", "3.0%"]


def test_the_page_has_a_place_for_it():
    page = plan_check._PAGE.read_text()
    assert page.count("<!-- plan_check: begin -->\n") == 1
    assert page.count("<!-- plan_check: end -->\n") == 1
