"""SECURITY.md names the commands that take a token, and those that take TLS files."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(os.path.abspath(__file__)).parents[1]  # A sandbox sees it through links.


def commands_with(option):
    """The commands that have an option, by docs/commands.md."""
    sections = (ROOT / "docs/commands.md").read_text().split("\n## persia ")[1:]
    return {
        section.partition("\n")[0]
        for section in sections
        if f"\n| `{option} " in section
    }


def commands_listed(option):
    """The commands of the sentence in SECURITY.md that lists those with an option."""
    text = " ".join((ROOT / "SECURITY.md").read_text().split())
    [listed] = re.findall(rf"`{option}` (?:is an option|are options) of (.*?);", text)
    return {name.removeprefix("persia ") for name in re.findall("`([^`]+)`", listed)}


@pytest.mark.parametrize("option", ["--auth-token-file", "--tls-ca"])
def test_the_commands_with_credentials_are_listed(option):
    assert "serve" in commands_with(option)
    assert commands_listed(option) == commands_with(option)
