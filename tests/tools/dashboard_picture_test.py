"""The picture of the dashboard, of invented data."""

import dashboard_picture
import pytest
from dashboard_panels import panels
from dashboard_picture import draw, read_from
from prometheus_api import Series


def lines_of(panel):
    return [(legend, [(0.0, 1.0), (60.0, 3.0)]) for legend in panel.queries]


def test_every_panel_with_data_is_drawn_and_its_row_too():
    [first, *_, last] = panels()
    picture = draw(lambda panel: lines_of(panel) if panel is last else [], 0, 60)
    assert f">{last.title}</text>" in picture and ">Model servers</text>" in picture
    assert f">{first.title}</text>" not in picture and ">Overview<" not in picture
    picture = draw(lines_of, 0, 60)
    assert all(f">{panel.title}</text>" in picture for panel in panels())


def test_a_line_goes_from_the_left_to_the_right_and_higher_is_up():
    [*_, panel] = panels()
    picture = draw(
        lambda each: [("a", [(0.0, 0.0), (60.0, 3.0)])] if each is panel else [], 0, 60
    )
    [points] = [
        line.partition('points="')[2].partition('"')[0].split()
        for line in picture.splitlines()
        if "line-blue" in line and 'stroke-width="1.5"' in line
    ]
    (x, y), (right, top) = (map(float, point.split(",")) for point in points)
    assert x < right and y > top


def test_lines_that_are_too_many_are_counted():
    [*_, panel] = panels()
    lines = [(f"line {n}", [(0.0, float(n))]) for n in range(9)]
    picture = draw(lambda each: lines if each is panel else [], 0, 60)
    assert "line 8" in picture and "line 2" not in picture and "and 3 more" in picture


def test_legends_have_values_of_labels_and_points_that_are_not_finite_are_left_out():
    class Invented:
        def query_range(self, expression, start, end, step):
            points = [(start, float("nan")), (end, 2.0)]
            return [Series({"instance": "ps-0", "request": "lookup"}, points)]

    panel = next(
        each for each in panels() if "{{instance}} {{request}}" in each.queries
    )
    assert read_from(Invented(), 0, 60)(panel) == [("ps-0 lookup", [(60, 2.0)])]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "12.3 ms"),
        (90.0, "s", "1.5 min"),
        (3 * 2**20, "bytes", "3 MiB"),
        (0.5, "percentunit", "50 %"),
        (1234.0, "reqps", "1.23 k/s"),
        (0.0, "bytes", "0"),
        (2.0, "none", "2"),
    ],
)
def test_values_have_units(value, unit, text):
    assert dashboard_picture._written(value, unit) == text
