"""The pictures of the documentation are what the programs draw."""

import xml.etree.ElementTree as ElementTree

import draw_pictures
import pytest

DRAWN = draw_pictures.pictures()
KEPT = {path.name: path.read_text() for path in draw_pictures.PICTURES.iterdir()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_what_the_program_draws(name):
    """If this fails, run python tools/draw_pictures.py."""
    assert KEPT[name] == DRAWN[name]


def test_no_other_pictures_are_kept():
    kept = {name for name in KEPT if not name.startswith(draw_pictures.OF_REPORT)}
    assert kept == {*DRAWN, draw_pictures.MEASURED}


@pytest.mark.parametrize("name", KEPT)
def test_a_picture_follows_the_mode_and_says_what_it_shows(name):
    root = ElementTree.fromstring(KEPT[name])
    names = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{names}title").text
    assert "prefers-color-scheme: dark" in root.find(f"{names}style").text


@pytest.mark.parametrize("name", KEPT)
def test_nothing_lies_outside_of_a_picture(name):
    root = ElementTree.fromstring(KEPT[name])
    width, height = float(root.get("width")), float(root.get("height"))
    for rectangle in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, wide, high = (
            float(rectangle.get(key)) for key in ("x", "y", "width", "height")
        )
        assert 0 <= x and x + wide <= width and 0 <= y and y + high <= height
