"""Tables of reports, as lines of text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Returns the lines of a table, whose first `left` columns are texts."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        texts = [cell.ljust(width) for cell, width in zip(row[:left], widths[:left])]
        numbers = [cell.rjust(width) for cell, width in zip(row[left:], widths[left:])]
        lines.append("  ".join(texts + numbers).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def table_html(rows: Sequence[Sequence[str]], texts: int) -> str:
    """Returns a table, whose first row is its header.

    Args:
        rows: The rows.
        texts: How many of the first columns are texts, and not numbers.
    """
    head, *body = rows
    lines = [_row(head, "th", texts), *(_row(row, "td", texts) for row in body)]
    return "\n".join(["<table>", *lines, "</table>"])


def _row(cells: Sequence[str], tag: str, texts: int) -> str:
    left = f'<{tag} class="texts">'
    shown = (
        f"{left if column < texts else f'<{tag}>'}{escape(cell)}</{tag}>"
        for column, cell in enumerate(cells)
    )
    return f"<tr>{''.join(shown)}</tr>"
