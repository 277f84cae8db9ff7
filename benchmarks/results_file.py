"""Writes sections of RESULTS.md: each benchmark writes its own."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
_TITLE = "# Results\n\nEach section names the program that writes it: rerun that.\n"


def write_section(name: str, text: str, path: Path = RESULTS) -> None:
    """Replaces the section with this name, or appends it if there is none.

    Args:
        name: The section's name, which is in comments that the page does not show.
        text: The section in Markdown, its heading included.
        path: The file, which is created if it does not exist.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    section = f"{begin}{text.strip()}\n{end}"
    whole = path.read_text() if path.exists() else _TITLE
    before, found, rest = whole.partition(begin)
    if found:
        whole = before + section + rest.partition(end)[2]
    else:
        whole = f"{whole}\n{section}"
    path.write_text(whole)
