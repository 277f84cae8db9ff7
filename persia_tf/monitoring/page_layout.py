"""Fits tables into a terminal: leaves out columns and rows, and shortens names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_GAP = 1
_ELLIPSIS = "…"
_PORT = re.compile(r":[0-9]+$")


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: The header.
        rank: How important the column is: those with the highest numbers are left out
            first if a terminal is narrow. Columns with 0 are always shown.
        align: "<" for texts, ">" for numbers.
        least: The width to which cells may be shortened; None if they may not be.
        cut: Where a cell is shortened: "middle" or "end".
    """

    name: str
    rank: int = 0
    align: str = ">"
    least: int | None = None
    cut: str = "middle"


class Cell(NamedTuple):
    """The contents of a cell.

    Attributes:
        text: The text, of one line.
        style: A style of rich; "" for none.
    """

    text: str
    style: str = ""


class Row(NamedTuple):
    """A line of a table.

    Attributes:
        cells: The cells. If they are fewer than the columns, the last one extends over
            the columns that are left.
        order: If not all rows fit, those with the greatest are shown, in that order.
    """

    cells: Sequence[Cell]
    order: Any = 0


class Table(NamedTuple):
    """A table that `lines_of` draws."""

    columns: Sequence[Column]
    rows: Sequence[Row]


def shares(wanted: Sequence[int], room: int) -> list[int]:
    """Divides lines among tables: evenly, but none gets more than it wants.

    Each gets at least one line, even if the room is too small for that.
    """
    given = [0] * len(wanted)
    left = room
    smallest_first = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for position, index in enumerate(smallest_first):
        fair = max(1, left // (len(wanted) - position))
        given[index] = min(wanted[index], fair)
        left -= given[index]
    return given


def lines_of(table: Table, width: int, most: int) -> list[Any]:
    """Draws a table, as instances of rich's `Text`.

    Args:
        table: The table.
        width: The greatest width of a line.
        most: How many lines there may be at most below the header. If there are more
            rows, the last line tells how many are not shown.
    """
    from rich.text import Text

    rows = list(table.rows)
    hidden = 0
    if len(rows) > most:
        rows = sorted(rows, key=lambda row: row.order, reverse=True)[: most - 1]
        hidden = len(table.rows) - len(rows)
    shown = _fitting(table.columns, rows, width)
    header = Row([Cell(column.name, "bold") for column in table.columns])
    drawn = [_line(row, table.columns, shown, width) for row in (header, *rows)]
    if hidden:
        drawn.append(Text(f"... and {hidden} more"[:width], no_wrap=True))
    return drawn


def shortened(text: str, width: int, cut: str = "middle") -> str:
    """Returns a text of at most `width` cells, with an ellipsis if it was longer.

    What tells addresses apart is their beginning, and their port or process id, which
    is kept; other names may differ at either end.
    """
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    if width < 2:
        return _ELLIPSIS[:width]
    tail = width // 2 if cut == "middle" else 0
    port = _PORT.search(text)
    if tail and port:
        tail = min(tail, len(port[0]))
    head = _beginning(text, width - 1 - tail)
    return head + _ELLIPSIS + _beginning(text[::-1], tail)[::-1]


def _beginning(text: str, width: int) -> str:
    """Returns as many characters as fit; some take two cells, and some none."""
    from rich.cells import cell_len

    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:index]
    return text


def _fitting(
    columns: Sequence[Column], rows: Sequence[Row], width: int
) -> dict[int, int]:
    """Returns the width of each column that is shown, by its position."""
    from rich.cells import cell_len

    wanted, least = [], []
    for index, column in enumerate(columns):
        texts = [
            row.cells[index].text for row in rows if _is_alone(row, index, columns)
        ]
        wanted.append(max(map(cell_len, [column.name, *texts])))
        may_be = wanted[-1] if column.least is None else column.least
        least.append(min(wanted[-1], max(may_be, cell_len(column.name))))
    shown = dict(enumerate(least))

    def room() -> int:
        return width - sum(shown.values()) - _GAP * (len(shown) - 1)

    by_rank = sorted(shown, key=lambda index: columns[index].rank, reverse=True)
    for index in by_rank:
        if room() >= 0 or not columns[index].rank:
            break
        del shown[index]
    for index in shown:
        if room() < 0:  # Not even the columns that are always shown fit.
            shortest = min(shown[index], cell_len(columns[index].name))
            shown[index] = max(shortest, shown[index] + room())
        else:
            shown[index] += min(wanted[index] - shown[index], room())
    return shown


def _is_alone(row: Row, index: int, columns: Sequence[Column]) -> bool:
    """Returns whether a row has a cell in a column, which extends over no other."""
    if index + 1 < len(row.cells):
        return True
    return index + 1 == len(row.cells) == len(columns)


def _line(
    row: Row, columns: Sequence[Column], shown: dict[int, int], width: int
) -> Any:
    from rich.cells import cell_len
    from rich.text import Text

    line = Text(no_wrap=True, overflow="crop")
    for index, cell in enumerate(row.cells):
        if not _is_alone(row, index, columns):
            rest = width - line.cell_len
            line.append(shortened(cell.text, rest, "end"), cell.style)
            break
        if index not in shown:
            continue
        column, room = columns[index], shown[index]
        text = shortened(cell.text, room, column.cut)
        padding = " " * (room - cell_len(text))
        if column.align == "<":
            line.append(text, cell.style).append(padding)
        else:
            line.append(padding).append(text, cell.style)
        line.append(" " * _GAP)
    line.rstrip()
    line.truncate(width)
    return line
