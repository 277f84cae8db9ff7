"""The tables of a model."""

from __future__ import annotations

from typing import Any

from persia_tf.layers import PersiaEmbedding
from persia_tf.table import Table


def tables_of(model: Any, *, trainable: bool = False) -> dict[tuple[str, str], Table]:
    """Returns the tables of a model's built layers, without duplicates.

    Args:
        model: A Keras model.
        trainable: Whether layers that are frozen do not count.

    Returns:
        The tables, by the name of their session and their full name.
    """
    tables = {}
    for layer in model._flatten_layers():
        if not (isinstance(layer, PersiaEmbedding) and layer.built):
            continue
        if layer.trainable or not trainable:
            cluster = layer.rows.cluster
            name = cluster.full_name(layer.rows.name)
            tables[cluster.session.name, name] = layer.rows
    return tables
