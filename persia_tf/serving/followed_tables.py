"""The tables of a loaded SavedModel, as changes reach them."""

from __future__ import annotations

from typing import Any

from persia_tf.serving.changed_tables import WritableTable
from persia_tf.serving.table_writer import TableWriter


def tables_of_saved_model(model: Any) -> dict[str, WritableTable]:
    """Returns the tables of an export that was loaded, by their full names.

    Args:
        model: What `tf.saved_model.load` gave.

    Raises:
        ValueError: if it is no export of `ptf.serving.export`.
    """
    tables = getattr(model, "tables", None)
    if tables is None:
        raise ValueError(
            "`model` must be what tf.saved_model.load gives for an export of "
            f"ptf.serving.export. Received: model={model!r}"
        )
    return {name: TableWriter(table) for name, table in tables.items()}
