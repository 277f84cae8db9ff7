"""The tables that a model looks rows up in."""

from __future__ import annotations

from typing import Any

from persia_tf.layers import PersiaEmbedding
from persia_tf.table import Table


def tables_of(model: Any) -> dict[str, Table]:
    """Returns the tables of a model's layers, by their full names.

    Args:
        model: A Keras model.

    Raises:
        ValueError: if a layer is not built, or tables of two clusters have the same
            name.
    """
    tables: dict[str, Table] = {}
    for layer in model._flatten_layers():
        if not isinstance(layer, PersiaEmbedding):
            continue
        table = layer.rows
        name = table.cluster.full_name(table.name)
        known = tables.setdefault(name, table)
        if known.cluster.session is not table.cluster.session:
            raise ValueError(
                "an export names tables by their full names, so two clusters cannot "
                "have tables of one name: give one of them another `table` or "
                f"`namespace`. Received: layer '{layer.name}' with table {name!r}"
            )
    return tables
