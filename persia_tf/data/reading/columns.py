"""The columns that a program wants, and what they may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from persia_tf import errors
from persia_tf.data.reading.opening import pyarrow


def check_types(schema: Any, file: str) -> None:
    """Raises InvalidArgumentError if a column's type cannot become a tensor."""
    for field in schema:
        if not _is_supported(field.type):
            raise errors.InvalidArgumentError(
                f"{file!r}: column {field.name!r} has the type {field.type}, which "
                "cannot be read: it must be numbers, booleans, strings or binary, or "
                "lists of these; leave it out with `columns`"
            )


def _is_supported(kind: Any) -> bool:
    types = pyarrow().types
    if types.is_list(kind) or types.is_large_list(kind):
        return _is_scalar(kind.value_type)
    return _is_scalar(kind)


def _is_scalar(kind: Any) -> bool:
    types = pyarrow().types
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_binary(kind)
        or types.is_large_string(kind)
        or types.is_large_binary(kind)
    )


def selected(schema: Any, columns: Sequence[str] | None, file: str) -> Any:
    """Returns the schema of the columns, in their order.

    Raises:
        InvalidArgumentError: if there is no such column in the file.
    """
    if columns is None:
        return schema
    missing = [name for name in columns if name not in schema.names]
    if missing:
        raise errors.InvalidArgumentError(
            f"{file!r} has no column {missing[0]!r}. Its columns: {schema.names}"
        )
    return pyarrow().schema([schema.field(name) for name in columns])


def check_same(schema: Any, file: str, expected: Any, first: str) -> None:
    """Raises InvalidArgumentError if two files have different types in a column."""
    for field in expected:
        kind = schema.field(field.name).type
        if kind != field.type:
            raise errors.InvalidArgumentError(
                f"{file!r}: column {field.name!r} has the type {kind}, but in "
                f"{first!r} it has the type {field.type}"
            )


def filled(
    table: Any, fill: Mapping[str, Any], place: Callable[[int], str], file: str
) -> Any:
    """Returns a table without nulls.

    Args:
        table: A `pyarrow.Table`.
        fill: By column, what replaces nulls.
        place: Returns how a message names a row, given its number in the table.
        file: The file of the table.

    Raises:
        InvalidArgumentError: for a null in another column, or within a list.
    """
    pa = pyarrow()
    for index, name in enumerate(table.column_names):
        column = table.column(index)
        _check_lists(column, name, place, file)
        if not column.null_count:
            continue
        if name not in fill:
            row = column.is_null().index(pa.scalar(True)).as_py()
            raise errors.InvalidArgumentError(
                f"{file!r}, {place(row)}: column {name!r} has no value; pass "
                f"`fill={{{name!r}: ...}}` with a value for such rows"
            )
        column = column.fill_null(pa.scalar(fill[name], column.type))
        table = table.set_column(index, table.schema.field(index), column)
    return table


def _check_lists(
    column: Any, name: str, place: Callable[[int], str], file: str
) -> None:
    pa = pyarrow()
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return
    values = pa.compute.list_flatten(column)
    if not values.null_count:
        return
    missing = values.is_null().index(pa.scalar(True)).as_py()
    row = pa.compute.list_parent_indices(column)[missing].as_py()
    raise errors.InvalidArgumentError(
        f"{file!r}, {place(row)}: a list of column {name!r} lacks a value; leave the "
        "column out with `columns`, or write the file without such values"
    )
