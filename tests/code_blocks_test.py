"""Code on the documentation's pages can be read without scrolling sideways."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.path.abspath(__file__)).parents[1]  # A sandbox sees it through links.

# The part of a line that the site shows, which is shorter than on GitHub.
MOST_CHARACTERS = 80

PAGES = [
    page
    for pattern in ("*.md", "docs/*.md", "examples/*/README.md")
    for page in sorted(ROOT.glob(pattern))
]


def lines_of_code(text):
    """The lines of a page's code blocks, with their numbers."""
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif is_code:
            yield number, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_fits_the_page(page):
    long = {
        number: line
        for number, line in lines_of_code(page.read_text())
        if len(line) > MOST_CHARACTERS
    }
    assert not long
