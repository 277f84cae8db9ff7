"""Which versions of other libraries the model server allows."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize("python", ["3.10", "3.13"])
def test_an_aiohttp_that_does_not_bound_chunked_bodies_is_not_taken(python):
    found = map(Requirement, re.findall(r'"(aiohttp\b.*)"', PYPROJECT.read_text()))
    wanted = [
        each
        for each in found
        if each.marker is None or each.marker.evaluate({"python_version": python})
    ]
    assert len(wanted) == 2  # The extras `serving` and `test`.
    for each in wanted:
        assert each.specifier.contains("3.14.0")
        assert not each.specifier.contains("3.13.99")
