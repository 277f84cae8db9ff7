"""Parses events, each of which is a JSON object, a batch at a time."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from persia_tf import errors
from persia_tf.data.reading.columns import check_types
from persia_tf.data.reading.opening import pyarrow

_NO_OBJECT = "is not a JSON object"
_SEVERAL = "is more than one JSON object"


class JsonEvents:
    """Parses events of some columns. Other members of the objects are ignored.

    Args:
        columns: The columns: by name, a type of pyarrow, or its name.
        fill: By column, the value of events that have none.

    Raises:
        TypeError: if `columns` is not a dict of types.
        InvalidArgumentError: if a type cannot be read, or `fill` has other columns.
    """

    def __init__(self, columns: Mapping[str, Any], fill: Mapping[str, Any]) -> None:
        self._pa = pa = pyarrow()
        self._json = importlib.import_module("pyarrow.json")
        self.schema = pa.schema(
            [(name, _type_of(pa, name, kind)) for name, kind in columns.items()]
        )
        check_types(self.schema, "events")
        unknown = [name for name in fill if name not in columns]
        if unknown:
            raise errors.InvalidArgumentError(
                f"`fill` must name columns that are read. Received: {unknown[0]!r}, "
                f"which is none of {list(columns)}"
            )
        self._fill = {
            name: pa.scalar(value, self.schema.field(name).type)
            for name, value in fill.items()
        }
        for field in self.schema:
            self._check_can_parse(field)

    def parsed(self, values: Sequence[bytes | None]) -> tuple[Any, dict[int, str]]:
        """Parses events.

        Returns:
            A `pyarrow.Table` with a row per good event, in their order; and by the
            number of each other event, what is wrong with it.
        """
        lines = [_line(value) for value in values]
        bad = {
            number: _NO_OBJECT
            for number, line in enumerate(lines)
            if line[:1] != b"{" or line[-1:] != b"}"
        }
        tables: list[Any] = []
        self._divide(lines, [n for n in range(len(lines)) if n not in bad], tables, bad)
        return self._pa.concat_tables(tables or [self.schema.empty_table()]), bad

    def _divide(
        self,
        lines: Sequence[bytes],
        numbers: Sequence[int],
        tables: list[Any],
        bad: dict[int, str],
    ) -> None:
        """Parses lines, halves of them if that fails, so that good ones are kept."""
        if not numbers:
            return
        try:
            table = self._read([lines[number] for number in numbers], self.schema)
        except self._pa.ArrowInvalid as error:
            table, reason = None, str(error).removesuffix(" in row 0")
        else:
            reason = _SEVERAL
        if table is not None and len(table) == len(numbers):
            table, wrong = self._without_wrong(table)
            tables.append(table)
            bad.update({numbers[row]: text for row, text in wrong.items()})
        elif len(numbers) == 1:
            bad[numbers[0]] = reason
        else:
            half = len(numbers) // 2
            self._divide(lines, numbers[:half], tables, bad)
            self._divide(lines, numbers[half:], tables, bad)

    def _read(self, lines: Sequence[bytes], schema: Any) -> Any:
        text = b"\n".join(lines) + b"\n"
        table = self._json.read_json(
            self._pa.BufferReader(text),
            # In one block, so that any event fits into it.
            self._json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            self._json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
        # pyarrow reads strings that are not UTF-8, but cannot convert them.
        table.validate(full=True)
        return table.select(schema.names)

    def _without_wrong(self, table: Any) -> tuple[Any, dict[int, str]]:
        """Fills in values; returns the rows without wrong ones, and what is wrong."""
        wrong: dict[int, str] = {}
        for index, name in enumerate(table.column_names):
            column = table.column(index)
            if column.null_count and name in self._fill:
                column = column.fill_null(self._fill[name])
                table = table.set_column(index, table.schema.field(index), column)
            wrong.update(self._wrong_in(name, column))
        if wrong:
            kept = [row for row in range(len(table)) if row not in wrong]
            table = table.take(self._pa.array(kept, self._pa.int64()))
        return table, wrong

    def _wrong_in(self, name: str, column: Any) -> dict[int, str]:
        pc, types = self._pa.compute, self._pa.types
        wrong = {}
        if column.null_count:
            missing = pc.indices_nonzero(column.is_null()).to_pylist()
            wrong = dict.fromkeys(missing, f"column {name!r} has no value")
        parents = None
        if types.is_list(column.type) or types.is_large_list(column.type):
            parents = pc.list_parent_indices(column)
            column = pc.list_flatten(column)
        is_bad = None
        if types.is_floating(column.type):
            # JSON has no NaN, but pyarrow reads it.
            is_bad = pc.invert(pc.fill_null(pc.is_finite(column), parents is None))
        elif parents is not None and column.null_count:
            is_bad = column.is_null()
        if is_bad is not None and pc.any(is_bad).as_py():
            rows = pc.indices_nonzero(is_bad)
            rows = rows if parents is None else parents.take(rows)
            text = f"column {name!r} has a value that is no finite number, or null"
            wrong.update(dict.fromkeys(rows.to_pylist(), text))
        return wrong

    def _check_can_parse(self, field: Any) -> None:
        try:
            self._read([b"{}"], self._pa.schema([field]))
        except (self._pa.ArrowException, NotImplementedError) as error:
            raise errors.InvalidArgumentError(
                f"column {field.name!r} has the type {field.type}, which cannot be "
                f"read from JSON: {error}"
            ) from error


def _type_of(pa: Any, name: str, kind: Any) -> Any:
    if isinstance(kind, pa.DataType):
        return kind
    try:
        return pa.type_for_alias(kind)
    except (TypeError, ValueError, AttributeError) as error:
        raise TypeError(
            "`columns` must be a dict with a type of pyarrow for each column, such as "
            "`'int64'`, `'float32'`, `'string'` or `pa.list_(pa.int64())`. "
            f"Received: columns[{name!r}]={kind!r}"
        ) from error


def _line(value: bytes | None) -> bytes:
    """Returns an event in one line."""
    line = (value or b"").strip()
    if b"\n" in line or b"\r" in line:
        # Within strings, JSON has no line breaks.
        line = line.replace(b"\n", b" ").replace(b"\r", b" ")
    return line
