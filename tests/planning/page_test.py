"""A plan as a page."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

import persia_tf as ptf

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def page(make_model, make_dataset, table, tmp_path):
    """Plans a model of two tables; gives the page's text."""

    def write(**options):
        model = make_model(
            {"output_dim": 4, "table": f"{table} <a&b>"}, {"output_dim": 8}
        )
        plan = ptf.plan(model, make_dataset(300, 50), run_steps=60, **options)
        plan.to_html(tmp_path / "plan.html")
        return (tmp_path / "plan.html").read_text()

    return write


def pictures(page):
    return [
        ElementTree.fromstring(svg)
        for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    ]


def test_it_has_the_tables_and_the_plots(page, table):
    text = page(shards=[1, 2, 4])
    assert text.count("<table>") == 2
    assert f'<td class="texts">{table}_1</td>' in text
    titles = [picture.find(f"{SVG}title").text for picture in pictures(text)]
    names = [f"{table} <a&b>", f"{table}_1"]
    assert titles == ["Memory of the busiest shard", *names, *names]


def test_names_are_escaped(page):
    text = page()
    assert "&lt;a&amp;b&gt;" in text
    assert "<a&b>" not in text


def test_nothing_is_loaded_from_elsewhere(page):
    text = page()
    assert not re.search(r"\b(src|href)=|@import|<script|<link", text)
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}


def test_a_memory_limit_is_a_line_of_its_plot_unless_it_is_far_above(page):
    text = page(memory_limit="100kB")
    [picture, *_] = pictures(text)
    assert picture.find(f"{SVG}title").text.endswith(", and its limit")
    [limit] = picture.findall(f"{SVG}polyline[@stroke-dasharray]")
    [left, right] = [point.split(",") for point in limit.get("points").split()]
    assert left[1] == right[1]
    assert "Memory limit of 100 kB per shard: " in text
    text = page(memory_limit="1GiB")
    assert ", and its limit" not in text
    assert "Memory limit of 1 GiB (1.07 GB) per shard: needs 1 shard or more." in text


def test_lines_stay_within_their_picture(page):
    for picture in pictures(page()):
        _, _, width, height = map(float, picture.get("viewBox").split())
        for shape in picture.iter():
            for point in shape.get("points", "").split():
                x, y = map(float, point.split(","))
                assert 0 <= x <= width and 0 <= y <= height


def test_a_single_number_of_shards_has_no_plot(page):
    assert len(pictures(page(shards=3))) == 4


def test_a_run_as_long_as_its_sample_is_shown(make_model, make_dataset, tmp_path):
    plan = ptf.plan(make_model({"output_dim": 4}), make_dataset(10, steps=1))
    plan.to_html(tmp_path / "plan.html")
    assert "<h2>Distinct ids</h2>" in (tmp_path / "plan.html").read_text()
