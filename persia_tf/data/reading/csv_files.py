"""Reads text files with a row per line, a range of bytes at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from persia_tf import errors
from persia_tf.data.reading import columns as columns_lib
from persia_tf.data.reading.opening import opened, pyarrow
from persia_tf.data.reading.parts import Format, Part
from persia_tf.files import failures
from persia_tf.files.paths import size_of

# A part has the lines that begin in its range.
_PART_BYTES = 8 << 20
_LINE_BYTES = 64 << 10
# What pyarrow parses at once. Much more does not stay in a processor's cache.
_BLOCK_BYTES = 1 << 20


class CsvFiles(Format):
    """Reads some columns of text files.

    Args:
        names: The names of all columns of a file; None if its first line has them.
        columns: The columns to read; None for all.
        types: By column, a type of pyarrow, such as `"int64"`; the others are found
            from the first part of the first file.
        fill: By column, what replaces fields without text.
        separator: The character between the fields of a line.
        first: The file that tells the names and types.

    Raises:
        PersiaError: if the first file cannot be read, or lacks a column.
    """

    def __init__(
        self,
        names: Sequence[str] | None,
        columns: Sequence[str] | None,
        types: Mapping[str, Any],
        fill: Mapping[str, Any],
        separator: str,
        first: str,
    ) -> None:
        self._pa = pyarrow()
        self._has_header = names is None
        self._separator = separator
        self._fill = fill
        self._names = self._header(first) if names is None else list(names)
        wanted = self._names if columns is None else list(columns)
        unknown = [name for name in (*wanted, *types) if name not in self._names]
        if unknown:
            raise errors.InvalidArgumentError(
                f"{first!r} has no column {unknown[0]!r}. Its columns: {self._names}"
            )
        self._first = first
        self._types = {
            name: self._pa.type_for_alias(kind) if isinstance(kind, str) else kind
            for name, kind in types.items()
        }
        self._wanted = wanted
        self._schema = None
        part = self.parts(first)[0]
        schema = self._parsed(part, self._lines(part)).schema
        # Of a column of whole numbers some rows may have a fraction later on.
        self._types = {field.name: field.type for field in schema}
        self._schema = schema
        columns_lib.check_types(schema, first)

    @property
    def schema(self) -> Any:
        """The columns of what `read` returns, as a `pyarrow.Schema`."""
        return self._schema

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that make the same reader."""
        return {
            "names": None if self._has_header else self._names,
            "columns": self._wanted,
            "types": {name: str(kind) for name, kind in self._types.items()},
            "fill": self._fill,
            "separator": self._separator,
            "first": self._first,
        }

    def parts(self, file: str) -> list[Part]:
        """Returns ranges of bytes of a file."""
        if self._has_header and file != self._first:
            self._check_header(file)
        with failures.as_errors("read", file):
            size = size_of(file)
        starts = range(0, max(size, 1), _PART_BYTES)
        return [
            Part(file, start, min(start + _PART_BYTES, size), None) for start in starts
        ]

    def read(self, part: Part) -> Any:
        """Reads the lines that begin in a range."""
        table = self._parsed(part, self._lines(part))
        return columns_lib.filled(
            table, self._fill, lambda row: self._line_of(part, row), part.file
        )

    def count(self, part: Part) -> int:
        """Counts the lines that begin in a range."""
        text = self._lines(part)
        has_empty_lines = text[:1] == b"\n" or b"\n\n" in text
        if has_empty_lines or b"\r" in text:  # Rare; pyarrow knows its rules.
            return len(self._parsed(part, text))
        return text.count(b"\n") + (text[-1:] not in (b"", b"\n"))

    def _parsed(self, part: Part, text: bytes) -> Any:
        if not text.strip():
            if self._schema is None:
                raise errors.InvalidArgumentError(f"{part.file!r} has no rows")
            return self._schema.empty_table()
        try:
            return self._in_blocks(text, self._block_bytes(text))
        except self._pa.ArrowInvalid as error:
            raise errors.DataLossError(
                f"{part.file!r}, in the lines from byte {part.start} on: "
                f"{self._named(str(error))}"
            ) from error

    def _block_bytes(self, text: bytes) -> int:
        # Types are found from the first block, and a block must hold a whole line.
        begins = range(0, len(text), _BLOCK_BYTES // 2)
        is_long = any(
            text.find(b"\n", begin, begin + _BLOCK_BYTES // 2) < 0
            for begin in begins[:-1]
        )
        return len(text) if self._schema is None or is_long else _BLOCK_BYTES

    def _in_blocks(self, text: bytes, block_bytes: int) -> Any:
        csv = self._pa.csv
        return csv.read_csv(
            self._pa.BufferReader(text),
            csv.ReadOptions(
                column_names=self._names, use_threads=False, block_size=block_bytes
            ),
            csv.ParseOptions(delimiter=self._separator),
            csv.ConvertOptions(
                include_columns=self._wanted,
                column_types=self._types,
                null_values=[""],
            ),
        )

    def _named(self, message: str) -> str:
        """Adds to a message the name of the column that it numbers."""
        for number, name in enumerate(self._names):
            message = message.replace(
                f"CSV column #{number}:", f"column {name!r} (number {number}, from 0):"
            )
        return message

    def _lines(self, part: Part) -> bytes:
        with opened(part.file) as source:
            begin = part.start - 1 if part.start else 0
            source.seek(begin)
            text = source.read(part.end - begin)
            while text and not text.endswith(b"\n"):
                more = source.read(_LINE_BYTES)
                line, newline, _ = more.partition(b"\n")
                text += line + newline
                if newline or not more:
                    break
        # A line that begins before the range belongs to the part before it.
        if part.start or self._has_header:
            text = text[text.find(b"\n") + 1 :] if b"\n" in text else b""
        return text

    def _header(self, file: str) -> list[str]:
        with opened(file) as source:
            line = source.read(_LINE_BYTES).partition(b"\n")[0]
        return next(iter(_fields(line.decode(), self._separator)), [])

    def _check_header(self, file: str) -> None:
        names = self._header(file)
        if names != self._names:
            missing = [name for name in self._names if name not in names]
            raise errors.InvalidArgumentError(
                f"{file!r} has other columns than {self._first!r}: "
                + (f"it lacks {missing}. " if missing else "")
                + f"Received: {names}, expected: {self._names}"
            )

    def _line_of(self, part: Part, row: int) -> str:
        with opened(part.file) as source:
            before = source.read(part.start).count(b"\n")
        return f"line {before + row + 1 + (self._has_header and not part.start)}"


def _fields(line: str, separator: str) -> Any:
    import csv

    return csv.reader([line.rstrip("\r")], delimiter=separator)
