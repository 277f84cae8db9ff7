"""The tables of a model, with the settings that decide what they cost."""

from __future__ import annotations

import dataclasses
from typing import Any

from persia_tf.admission import Admission
from persia_tf.client.session import UNDECIDED, TableSettings
from persia_tf.eviction import Eviction
from persia_tf.layers import PersiaEmbedding
from persia_tf.optimizers import Adam
from persia_tf.optimizers.of_keras import row_rule
from persia_tf.planning.observe import Sample


@dataclasses.dataclass(frozen=True)
class ModelTable:
    """A table of a model.

    Attributes:
        key: The names of its session and of the table in it.
        settings: Its settings, with the optimizer that will step its rows.
        admission: Which ids get a row.
        eviction: Which rows are evicted.
        trained: Whether training creates and updates its rows.
        wire_dtype: The dtype of its rows and gradients in messages.
        hot_rows: How many rows a program keeps copies of.
        staleness: How many steps updates may be late, without prefetch.
        is_assumed: Whether the optimizer is not known, and was assumed.
    """

    key: tuple[str, str]
    settings: TableSettings
    admission: Admission | None
    eviction: Eviction | None
    trained: bool
    wire_dtype: str
    hot_rows: int
    staleness: int
    is_assumed: bool

    @property
    def name(self) -> str:
        """The table's full name."""
        return self.key[1]


def tables_of(model: Any, sample: Sample) -> list[ModelTable]:
    """Returns the tables that a model looks up for a sample, in the model's order."""
    layers = {
        layer._layer_table.route.layer: layer
        for layer in model._flatten_layers()
        if isinstance(layer, PersiaEmbedding) and layer._layer_table is not None
    }
    return [_table_of(model, key, sample, layers) for key in sample.tables]


def _table_of(
    model: Any, key: tuple[str, str], sample: Sample, layers: dict[str, Any]
) -> ModelTable:
    lookups = sample.of_table(key)
    layer = layers[lookups[0].layer]
    table = layer._layer_table
    settings = table.settings
    given = layer.optimizer or table.given_optimizer
    is_assumed = False
    if given is None:
        optimizer = getattr(model, "optimizer", None)
        is_assumed = optimizer is None
        given = Adam(lazy=False) if is_assumed else row_rule(optimizer).optimizer
    if settings.optimizer == UNDECIDED:
        settings = dataclasses.replace(settings, optimizer=given.spec())
    cluster = table.rows.cluster
    return ModelTable(
        key=key,
        settings=settings,
        admission=layer.admission,
        eviction=layer.eviction,
        trained=any(each.trained for each in lookups),
        wire_dtype=cluster.wire_dtype,
        hot_rows=cluster.hot_rows,
        staleness=cluster.staleness,
        is_assumed=is_assumed,
    )
