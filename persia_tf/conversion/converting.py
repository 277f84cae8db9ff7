"""Drop-in conversion: `keras.layers.Embedding` becomes `PersiaEmbedding`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from persia_tf import optimizers
from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.cluster import Cluster
from persia_tf.conversion import state
from persia_tf.conversion.calls import layer_of
from persia_tf.conversion.cloning import Cloner
from persia_tf.conversion.plan import Plan, is_model_of_layers, row_initializer
from persia_tf.conversion.regularization import CHOICES, Regularizers
from persia_tf.conversion.report import ConvertedLayer, Report
from persia_tf.conversion.sharing import SharedLookup
from persia_tf.current_cluster import current_cluster
from persia_tf.layers import (
    CastingPersiaEmbedding,
    PersiaEmbedding,
    PersiaEmbeddings,
)
from persia_tf.layers.table_config import TableConfig
from persia_tf.table import Table

_CHUNK_ROWS = 2**16


class Conversion(NamedTuple):
    """What `ptf.convert` returns.

    Attributes:
        model: The clone of the model, which is not compiled.
        report: A `Report`: which layers were converted, which were not, and why.
    """

    model: Any
    report: Report


def convert(
    model: Any,
    min_rows: int = 100_000,
    optimizer: str | optimizers.Optimizer | None = None,
    *,
    table_prefix: str = "",
    cluster: Cluster | None = None,
    regularizers: Literal["leave", "drop", "weight_decay"] = "leave",
    together: bool = False,
) -> Conversion:
    """Clones a Keras model, and turns its large `Embedding`s into `PersiaEmbedding`s.

    The clone predicts what the model predicts: the rows of ids 0 to `input_dim - 1` are
    copied to tables of the cluster, and all other weights, names, vocabularies and
    `trainable` flags are copied too. The model is not changed.

    Under a `tf.distribute` strategy, call `convert` within the strategy's scope.

    The clone must be compiled before it is trained. The optimizer of `compile` then
    updates the dense part. It also updates the rows, unless the argument `optimizer`
    sets another optimizer for the rows. The state of the model's optimizer is not
    copied.

    An input that only feeds ids to converted layers becomes int64, whatever its dtype
    was, since float32 cannot represent all ids beyond `2**24`. Where the model computes
    ids as floats, an `Embedding` becomes a `CastingPersiaEmbedding`.

    Example:

    ```python
    model = keras.models.load_model("ranking.keras")
    converted, report = ptf.convert(model, min_rows=1_000_000)
    print(report)
    converted.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    converted.fit(dataset)
    ```

    Args:
        model: A Functional or Sequential model, which must be built. Other models may
            be nested in it.
        min_rows: An int of at least 1: `Embedding` layers with fewer rows
            (`input_dim`) are not converted. Defaults to `100_000`.
        optimizer: The optimizer of the rows: a `persia_tf.optimizers` object or its
            name. Defaults to None: rows follow the optimizer that the clone is compiled
            with, as for any `PersiaEmbedding`.
        table_prefix: A prefix of the tables' names. Without it, a table is named like
            its layer, preceded by the names of the models that the layer is nested in:
            `"user_embedding"`, `"tower/user_embedding"`. Defaults to `""`.
        cluster: The `persia_tf.Cluster` that holds the tables. Defaults to the cluster
            of `ptf.use_cluster`, else to that of the environment.
        regularizers: What to do with an `Embedding` that has an
            `embeddings_regularizer`, which tables do not support. `"leave"` does not
            convert the layer. `"drop"` converts it without the regularizer.
            `"weight_decay"` converts it and replaces `L2(l2)` by a decoupled weight
            decay of `2 * l2` in the optimizer of its rows. The decay shrinks only the
            rows that a step updates, whereas Keras shrinks all rows. A regularizer of
            zero, such as `L2(0.0)`, is ignored. Defaults to `"leave"`.
        together: Whether the converted layers of a Functional model become features
            of one `PersiaEmbeddings` named `"embeddings"`, which looks up all of them
            at once. Rows, tables and results are those of separate layers. A layer that
            cannot share the lookup becomes a `PersiaEmbedding`, and the report says
            why. Defaults to False.

    Returns:
        A `Conversion`: `(model, report)`.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if the model is subclassed or not built, a layer cannot be created
            from its config, a table holds rows that differ from the layer's, or
            `regularizers="weight_decay"` is given without an `optimizer`.
        PersiaError: if a shard does not answer in time, or a table exists already with
            other settings.
    """
    _check_model(model)
    checks.one_of("regularizers", regularizers, CHOICES)
    checks.instance("together", together, bool, "a bool")
    checks.instance("table_prefix", table_prefix, str, "a str")
    min_rows = checks.integer("min_rows", min_rows, 1, 2**63 - 1)
    rows_by = None if optimizer is None else optimizers.get(optimizer)
    regularizing = Regularizers(regularizers, rows_by)
    plan = Plan(model, min_rows, regularizing)
    shared = SharedLookup(model, plan) if together else None
    cluster = cluster if cluster is not None else current_cluster()
    replaced = _Replacements(plan, shared, regularizing, table_prefix, cluster)
    cloner = Cloner(replaced.replacement, plan.is_input_of_ids, shared)
    clone = cloner.clone(model)
    replaced.carry_over()
    _copy_states(model, clone, cloner, plan)
    report = Report(tuple(replaced.report), tuple(plan.left), rows_by)
    logging.info("converted model '%s': %s", model.name, report)
    return Conversion(clone, report)


class _Replacements:
    """Creates the layers that replace others, and their entries in the report."""

    def __init__(
        self,
        plan: Plan,
        shared: SharedLookup | None,
        regularizing: Regularizers,
        table_prefix: str,
        cluster: Cluster,
    ) -> None:
        self._plan = plan
        self._shared = shared
        self._regularizing = regularizing
        self._table_prefix = table_prefix
        self._cluster = cluster
        self._tables: list[tuple[Any, Table]] = []
        self._together: PersiaEmbeddings | None = None
        self.report: list[ConvertedLayer] = []

    def replacement(self, layer: Any) -> Any:
        """Returns a new layer that replaces `layer`, or None if `layer` is copied."""
        if not self._plan.converts(layer):
            return None
        if self._shared is None:
            return self._alone(layer)
        if not self._shared.has(layer):
            reason = self._shared.why_alone(layer)
            return self._alone(layer, f"in a layer of its own, since {reason}")
        if self._together is None:
            self._together = self._of_all(self._shared)
        return self._together

    def _alone(self, layer: Any, *notes: str) -> PersiaEmbedding:
        takes_integers = self._plan.takes_integers(layer)
        return (PersiaEmbedding if takes_integers else CastingPersiaEmbedding)(
            **self._table_options(layer, *notes),
            **self._layer_options(layer),
            name=layer.name,
            activity_regularizer=layer.activity_regularizer,
        )

    def _of_all(self, shared: SharedLookup) -> PersiaEmbeddings:
        name = _unused_name("embeddings", shared.model)
        layers = [layer_of(node) for node in shared.nodes]
        note = f"together with others in layer '{name}'"
        return PersiaEmbeddings(
            {x.name: TableConfig(**self._table_options(x, note)) for x in layers},
            **self._layer_options(layers[0]),
            name=name,
        )

    def _layer_options(self, layer: Any) -> dict[str, Any]:
        return {
            "cluster": self._cluster,
            "trainable": layer.trainable,
            "dtype": layer.get_config()["dtype"],
        }

    def _table_options(self, layer: Any, *notes: str) -> dict[str, Any]:
        """Returns the options of a layer's table, and adds the layer to the report."""
        path = self._plan.path(layer)
        table = self._table_prefix + path
        initializer, notes_on_rows = row_initializer(layer)
        regularization = self._plan.regularization(layer)
        notes = (*notes_on_rows, *regularization.notes, *notes)
        self._tables.append((layer, Table(table, self._cluster)))
        self.report.append(
            ConvertedLayer(path, table, layer.input_dim, layer.output_dim, notes)
        )
        return {
            "output_dim": layer.output_dim,
            "table": table,
            "embeddings_initializer": initializer,
            "optimizer": self._regularizing.optimizer(regularization.weight_decay),
            "mask_zero": layer.mask_zero,
            "row_dtype": tf.as_dtype(layer.embeddings.dtype).name,
        }

    def carry_over(self) -> None:
        """Copies the original weights to the tables; the new layers must be built."""
        for layer, table in self._tables:
            _refuse_other_rows(table, layer)
        for layer, table in self._tables:
            _carry_over(layer, table)


def _unused_name(name: str, model: Any) -> str:
    """Returns a name that no layer of the model has: `name`, or `name` and a number."""
    used = {layer.name for layer in model.layers}
    names = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(1)))
    return next(each for each in names if each not in used)


def _copy_states(model: Any, clone: Any, cloner: Cloner, plan: Plan) -> None:
    # Outer models come first: setting their `trainable` also sets that of inner layers.
    clone.trainable = model.trainable
    for layer in model.layers:
        if is_model_of_layers(layer):
            _copy_states(layer, cloner.clone(layer), cloner, plan)
        elif plan.converts(layer):
            cloner.clone(layer).trainable = layer.trainable
        elif _is_copied(layer, cloner):
            state.copy_state(layer, cloner.clone(layer))


def _is_copied(layer: Any, cloner: Cloner) -> bool:
    if not isinstance(layer, keras.layers.Layer):
        return False
    is_input = isinstance(layer, keras.layers.InputLayer)
    return not is_input and cloner.clone(layer) is not layer


def _check_model(model: Any) -> None:
    if not isinstance(model, keras.Model):
        raise TypeError(
            "`model` must be a keras.Model of the Keras version that `tf.keras` is. "
            f"Received: model={model!r}"
        )
    if not is_model_of_layers(model):
        raise ValueError(
            "`model` must be Functional or Sequential, since only the code of a "
            "subclassed model says how it uses its layers. In that code, replace each "
            "large Embedding by `ptf.layers.PersiaEmbedding(dim, table=name)`, build "
            "the model, and copy the rows: "
            "`ptf.Table(name).assign(range(input_dim), embedding.get_weights()[0])`. "
            f"Received: model of class {type(model).__name__}"
        )
    if not model.built or not model.inputs:
        raise ValueError(
            "`model` must be built, else it has no rows to carry over: give it an "
            "Input, or call it on a batch. "
            f"Received: model '{model.name}', which is not built"
        )


def _refuse_other_rows(table: Table, embedding: Any) -> None:
    """Raises ValueError if a table holds rows that differ from a layer's weights.

    Args:
        table: A table whose dim is the layer's `output_dim`.
        embedding: The `keras.layers.Embedding`.
    """
    if not len(table):
        return
    for ids, rows in _chunks(embedding):
        held = table.lookup(ids)
        # Rows of zeros are ignored, since a lookup returns zeros for ids without a row.
        other = (held != rows).any(axis=1) & held.any(axis=1)
        if other.any():
            raise ValueError(
                f"table '{table.name}' already holds rows, and its row of id "
                f"{ids[other][0]} differs from that of layer '{embedding.name}', so "
                "the conversion would overwrite it. If the rows come from an earlier "
                "conversion, continue with the model that it returned; to start over, "
                "give another `table_prefix`."
            )


def _carry_over(embedding: Any, table: Table) -> None:
    """Sets the rows of ids 0 to `input_dim - 1` to the layer's weights."""
    for ids, rows in _chunks(embedding):
        table.assign(ids, rows)


def _chunks(embedding: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    [weights] = embedding.get_weights()
    for first in range(0, len(weights), _CHUNK_ROWS):
        rows = weights[first : first + _CHUNK_ROWS].astype(np.float32)
        yield np.arange(first, first + len(rows)), rows
