"""RESULTS.md: sections that programs write, each its own."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
_TITLE = "# Results\n\nWritten by the programs that each section names: rerun them.\n"


def write_section(name: str, text: str, path: Path = RESULTS) -> None:
    """Puts a section in place of the one of that name, or at the end.

    Args:
        name: Of the section, in marks that a reader of the page does not see.
        text: Markdown, its heading included.
        path: Of the file; made if there is none.
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
