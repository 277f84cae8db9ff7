"""Charts of lines: where points, numbers and labels are."""

import xml.etree.ElementTree as ElementTree

import pytest

from persia_tf.base.chart import Axis, Frame, Line, chart, draw_chart, spread
from persia_tf.base.svg import Picture

SVG = "{http://www.w3.org/2000/svg}"
FRAME = Frame(100, 200, 50, 150)


def drawn(x_axis, y_axis, *lines, **options):
    picture = Picture(300, 200, "a chart")
    draw_chart(picture, FRAME, x_axis, y_axis, lines, **options)
    return ElementTree.fromstring(str(picture))


def axis(**options):
    return Axis("", "{:g}".format, **options)


def dots(picture):
    return [
        (float(dot.get("cx")), float(dot.get("cy")))
        for dot in picture.iter(f"{SVG}circle")
    ]


def texts(picture):
    return [text.text for text in picture.iter(f"{SVG}text")]


def test_a_plain_axis_begins_at_zero():
    picture = drawn(axis(), axis(), Line([(1, 5), (2, 10)], dots=True), top=10.0)
    assert dots(picture) == [(150, 100), (200, 50)]


@pytest.mark.parametrize(
    ("top", "numbers"),
    [
        (10.0, ["0", "2", "4", "6", "8", "10"]),
        (1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (21.3, ["0", "5", "10", "15", "20"]),
        (0.0123, ["0", "0.0025", "0.005", "0.0075", "0.01"]),
        (280.0, ["0", "100", "200"]),
    ],
)
def test_the_numbers_of_a_plain_axis_are_round(top, numbers):
    picture = drawn(axis(ticks=[1]), axis(), Line([(1, 0)]), top=top)
    assert texts(picture)[:-1] == numbers


def test_equal_ratios_are_equal_distances_of_logarithmic_axes():
    both = axis(is_logarithmic=True, ticks=[1, 10, 100])
    line = Line([(1, 1), (10, 10), (100, 100)], dots=True)
    picture = drawn(both, both, line)
    places = [each for place in dots(picture) for each in place]
    assert places == pytest.approx([100, 150, 150, 100, 200, 50])
    assert texts(picture) == ["1", "10", "100"] * 2


def test_labels_are_at_the_ends_of_their_lines():
    lines = [Line([(0, 0), (1, y)], label=f"to {y}") for y in (1, 1)]
    picture = drawn(axis(), axis(), *lines, top=1.0)
    first, second = list(picture.iter(f"{SVG}text"))[-2:]
    assert (first.text, first.get("x"), first.get("y")) == ("to 1", "208", "54")
    assert second.get("y") == "41"


def test_labels_do_not_overlap():
    assert spread([50, 20, 49, 100], gap=10) == [50, 20, 40, 100]
    assert spread([5, 5, 5], gap=2) == [5, 3, 1]
    assert spread([]) == []


def test_a_chart_has_its_title_and_those_of_its_axes():
    x_axis, y_axis = Axis("steps", str), Axis("ids", str)
    picture = ElementTree.fromstring(chart("Growth", x_axis, y_axis, [Line([(1, 2)])]))
    assert picture.find(f"{SVG}title").text == "Growth"
    assert {"Growth", "steps", "ids"} <= set(texts(picture))
