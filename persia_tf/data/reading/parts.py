"""The parts of files that are read at once, and what reads them."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A part of a file.

    Attributes:
        file: A path or a URL.
        start: Where it begins, in a unit of the format: a row group or a byte.
        end: Where it ends.
        rows: How many rows it has, or None if only reading it tells.
    """

    file: str
    start: int
    end: int
    rows: int | None


class Format(abc.ABC):
    """Reads files of one format. Thread-safe."""

    @property
    @abc.abstractmethod
    def schema(self) -> Any:
        """The columns of what `read` returns, as a `pyarrow.Schema`."""

    @abc.abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that make the same reader, as JSON can hold them."""

    @abc.abstractmethod
    def parts(self, file: str) -> list[Part]:
        """Returns the parts of a file, in their order.

        Raises:
            PersiaError: if the file cannot be read, with its name.
        """

    @abc.abstractmethod
    def read(self, part: Part) -> Any:
        """Reads a part, as a `pyarrow.Table`.

        Raises:
            PersiaError: if the part cannot be read, or has values that the schema does
                not allow, with the file, the row and the column.
        """

    def count(self, part: Part) -> int:
        """Returns how many rows a part has.

        Raises:
            PersiaError: as `read`.
        """
        return len(self.read(part)) if part.rows is None else part.rows


# How many files are looked at at once, which is mostly waiting if they are far.
_FILES_AT_ONCE = 16


def parts_of(reader: Format, files: Sequence[str]) -> list[Part]:
    """Returns the parts of some files, in their order.

    Raises:
        PersiaError: for the first file in this order that cannot be read.
    """
    with ThreadPoolExecutor(_FILES_AT_ONCE, "persia_parts") as pool:
        return [part for parts in pool.map(reader.parts, files) for part in parts]
