"""The report of a simulation."""

import dataclasses
import json
import re

import pytest

from persia_tf.simulation.examples import examples
from persia_tf.simulation.page import report_page
from persia_tf.simulation.report import report


@pytest.fixture(scope="module")
def small():
    """A report of a small set-up, with its sensitivity."""
    return report(examples()["this-machine"], steps=6, with_sensitivity=True)


def test_the_text_has_all_parts(small):
    text = str(small)
    assert text.startswith("the benchmarks' click model (W1) on one machine")
    for part in (
        "6 simulated steps of each trainer",
        "examples, of all trainers",
        "What breaks first: ",
        "What limits the speed: cores of machine",
        "memory of a shard",
        "time of the dense part",
        "--dense-ms",
    ):
        assert part in text


def test_a_throughput_without_a_dense_part_is_told_to_be_a_bound(small):
    lookups = dataclasses.replace(small.values["dense_seconds"], value=0.0)
    values = {**small.values, "dense_seconds": lookups}
    for changed, is_told in (
        (small, False),
        (dataclasses.replace(small, values=values), True),
    ):
        assert ("give --dense-ms" in str(changed)) is is_told
        assert ("give --dense-ms" in report_page(changed)) is is_told


def test_lines_fit_a_wide_terminal(small):
    assert max(map(len, str(small).splitlines())) <= 130


def test_the_throughput_is_that_of_all_trainers(small):
    rate = small.simulated.per_second * 4096
    assert small.examples_per_second == pytest.approx(rate)


def test_json_has_only_what_json_can_have(small):
    plain = json.loads(small.to_json())
    assert plain == small.to_dict()
    assert plain["values"]["shards"] == {
        "value": 2,
        "source": "given",
        "why": "two shards",
    }
    unlimited = [each for each in plain["limits"] if each["limit"] is None]
    assert {each["name"] for each in unlimited} >= {"memory of a shard"}
    assert plain["sensitivity"][0]["name"]


def test_a_report_without_sensitivity_says_none_of_it(small):
    plain = dataclasses.replace(small, sensitivity=None)
    assert plain.to_dict()["sensitivity"] is None
    assert "half" not in str(plain).partition("What would")[0]


def test_the_page_loads_nothing_from_elsewhere(small, tmp_path):
    small.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"\b(src|href)=|@import|<script|<link", text)
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}
    assert text.count("<table>") == 6
    assert text.count("<svg") == 1
    assert "benchmarks&#x27; click model" in text


def test_steps_in_which_no_update_ends_are_refused():
    with pytest.raises(ValueError, match="`steps` must be at least 6, the staleness"):
        report(examples()["this-machine"], steps=5)
