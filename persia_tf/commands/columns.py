"""Texts in columns, as commands print them."""

from __future__ import annotations

from collections.abc import Sequence


def align(
    header: Sequence[str], rows: Sequence[Sequence[object]], text_columns: int
) -> str:
    """Aligns the first `text_columns` columns to the left, and others to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        )
        for row in cells
    )
