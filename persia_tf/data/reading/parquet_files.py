"""Reads Parquet files, a row group at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from persia_tf import errors
from persia_tf.data.reading import columns as columns_lib
from persia_tf.data.reading.opening import opened, pyarrow
from persia_tf.data.reading.parts import Format, Part

# How many footers are kept. Those of all files could fill the memory.
_FOOTERS = 16


class ParquetFiles(Format):
    """Reads some columns of Parquet files.

    Args:
        columns: The columns; None for those of the first file.
        fill: By column, what replaces nulls.
        first: The file that has the types of the columns.

    Raises:
        PersiaError: if the first file cannot be read, or lacks a column.
    """

    def __init__(
        self, columns: Sequence[str] | None, fill: Mapping[str, Any], first: str
    ) -> None:
        self._pa = pyarrow()
        self._fill = fill
        self._first = first
        self._columns = None if columns is None else list(columns)
        self._lock = threading.Lock()
        # The sizes and footers of the files that were used last, guarded by _lock.
        self._footers: dict[str, tuple[int, Any]] = {}
        with opened(first) as source:
            schema = self._footer(first, source).schema.to_arrow_schema()
        self._schema = columns_lib.selected(schema, columns, first)
        columns_lib.check_types(self._schema, first)
        self._columns = self._schema.names

    @property
    def schema(self) -> Any:
        """The columns of what `read` returns, as a `pyarrow.Schema`."""
        return self._schema

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that make the same reader."""
        return {"columns": self._columns, "fill": self._fill, "first": self._first}

    def parts(self, file: str) -> list[Part]:
        """Returns the row groups of a file."""
        with opened(file) as source:
            footer = self._footer(file, source)
        schema = footer.schema.to_arrow_schema()
        schema = columns_lib.selected(schema, self._columns, file)
        columns_lib.check_same(schema, file, self._schema, self._first)
        return [
            Part(file, group, group + 1, rows)
            for group, rows in enumerate(_rows(footer))
        ]

    def read(self, part: Part) -> Any:
        """Reads a row group."""
        try:
            return self._read(part)
        except errors.PersiaError:
            # Whoever tries again may have mended the file.
            with self._lock:
                self._footers.pop(part.file, None)
            raise

    def _read(self, part: Part) -> Any:
        with opened(part.file) as source:
            footer = self._footer(part.file, source)
            self._check_unchanged(part, footer)
            # The reader's own threads would contend with those that train.
            table = self._pa.parquet.ParquetFile(
                source, metadata=footer, pre_buffer=True
            ).read_row_group(part.start, columns=self._columns, use_threads=False)
        table = table.select(self._columns).cast(self._schema)

        def place(row: int) -> str:
            first = sum(_rows(footer)[: part.start])
            return f"row {first + row} (row group {part.start}, from 0)"

        return columns_lib.filled(table, self._fill, place, part.file)

    def _check_unchanged(self, part: Part, footer: Any) -> None:
        is_there = part.start < footer.num_row_groups
        if not is_there or footer.row_group(part.start).num_rows != part.rows:
            raise errors.DataLossError(
                f"{part.file!r} has changed since the dataset was made: row group "
                f"{part.start} had {part.rows} rows; make the dataset again"
            )

    def _footer(self, file: str, source: Any) -> Any:
        size = source.size()
        with self._lock:
            known_size, footer = self._footers.get(file, (None, None))
        if known_size != size:
            footer = self._pa.parquet.ParquetFile(source).metadata
        with self._lock:
            self._footers.pop(file, None)
            self._footers[file] = size, footer  # At the end: it was used last.
            while len(self._footers) > _FOOTERS:
                del self._footers[next(iter(self._footers))]
        return footer


def _rows(footer: Any) -> list[int]:
    """Returns the rows of each row group."""
    groups = range(footer.num_row_groups)
    return [footer.row_group(group).num_rows for group in groups]
