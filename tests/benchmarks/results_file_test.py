"""Sections of RESULTS.md."""

import pytest
from results_file import write_section


@pytest.fixture
def path(tmp_path):
    return tmp_path / "RESULTS.md"


def test_a_section_replaces_that_of_its_name_alone(path):
    write_section("one", "## One\nfirst", path)
    write_section("two", "## Two\nstays", path)
    write_section("one", "## One\nsecond", path)
    text = path.read_text()
    assert "first" not in text and "second" in text and "stays" in text
    assert text.index("## One") < text.index("## Two")


def test_writing_again_changes_nothing(path):
    for name in ("one", "two", "one", "two"):
        write_section(name, f"## {name}", path)
        before = path.read_text() if name == "two" else None
    write_section("one", "## one", path)
    assert path.read_text() == before
    assert before.startswith("# Results\n")
