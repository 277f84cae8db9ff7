"""Export of models with their rows."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import tensorflow as tf
from absl import logging

from persia_tf import checks
from persia_tf.checkpoint.progress_bar import ProgressBar
from persia_tf.cluster import flush
from persia_tf.ops.embedding import Route
from persia_tf.ops.redirection import redirected_to
from persia_tf.serving.frozen_rows import ROW_DTYPES
from persia_tf.serving.frozen_table import FrozenTable
from persia_tf.serving.manifest import FILE_NAME, ExportedTable, Manifest
from persia_tf.serving.model_tables import tables_of
from persia_tf.serving.remote import Remote
from persia_tf.serving.remote_tables import RemoteTable, RemoteTables
from persia_tf.serving.signature import Inputs, named_outputs
from persia_tf.table import Table

# Of a SavedModel: what is of no concern to TensorFlow.
_EXTRA = "assets.extra"

_SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_MODES = ("standalone", "remote")


class Export(NamedTuple):
    """What `export` wrote.

    Attributes:
        path: The SavedModel's folder.
        tables: The tables that it holds.
    """

    path: str
    tables: tuple[ExportedTable, ...]


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    mode: Literal["standalone", "remote"] = "standalone",
    row_dtype: Literal["float32", "float16", "int8"] = "float32",
    inputs: Any = None,
    remote: Remote | None = None,
    progress: bool = False,
) -> Export:
    """Writes a model as a SavedModel, with its rows or with the way to them.

    With its rows, its graph is of TensorFlow's own ops: TensorFlow Serving loads it as
    it is, and so does a program that has no `persia_tf`. Each table is in it with its
    ids and rows, without optimizer state. With `mode="remote"` it asks the shards, as
    they are at that moment, by an op of this library's: see `ptf.serving.Remote`. An id
    without a row gives zeros. Strings, ragged and sparse ids, weights, combiners and
    compressions are as in the model.

    It holds what was trained when it is called; training may go on meanwhile, and rows
    that come or change meanwhile may be in it or not. Memory: that of the rows that are
    exported, and a few batches of them. The model stays as it is.

    Example:

    ```python
    ptf.serving.export(model, "serving/ranking/1", row_dtype="float16")
    # Where there is only TensorFlow:
    serve = tf.saved_model.load("serving/ranking/1").signatures["serving_default"]
    serve(user=tf.constant([3, 7], tf.int64))
    ```

    Args:
        model: A Keras model, which is built.
        path: The folder to write, which must be absent or empty. For TensorFlow
            Serving, a number in the model's folder.
        mode: `"standalone"`: all rows are in the SavedModel; `"remote"`: none are.
            Defaults to `"standalone"`.
        row_dtype: How weights are held: `"float32"`, `"float16"`, or `"int8"` with a
            scale a row, off by a 254th of the row's largest weight at most. They are
            made float32 in the graph. Defaults to `"float32"`.
        inputs: What the model is called with: a structure of `tf.TensorSpec`,
            `tf.RaggedTensorSpec` or `tf.SparseTensorSpec`. Defaults to None: the
            model's own inputs. The signature takes them by name: an input's key, where
            the model takes a dict, else its own name.
        remote: With `mode="remote"`: how the shards are asked. Defaults to None: as
            `Remote()` says.
        progress: Whether to show a progress bar. Defaults to False.

    Returns:
        An `Export`: where it is, and the tables that it holds.

    Raises:
        ValueError: for a `mode` or `row_dtype` that is unknown, a `path` with files in
            it, a model that is not built, or one that does not tell its inputs; with
            `mode="remote"`, for tables that are embedded in this process.
        PersiaError: if a shard does not answer in time (it is named), or an update
            could not be delivered.
    """
    checks.one_of("mode", mode, _MODES)
    checks.one_of("row_dtype", row_dtype, ROW_DTYPES)
    path = os.fspath(path)
    _check_is_free(path)
    created = datetime.datetime.now(datetime.timezone.utc)
    flush()
    of_model = tables_of(model)
    if mode == "remote":
        on_shards = RemoteTables(of_model, remote or Remote())
        served = _ServedModel(model, Inputs(model, inputs), on_shards.by_name)
        told = on_shards.told()
    else:
        frozen = _freeze(of_model, row_dtype, progress)
        served = _ServedModel(model, Inputs(model, inputs), frozen)
        told = {"tables": _exported(frozen, row_dtype)}
    tf.saved_model.save(served, path, {_SIGNATURE: served.serve})
    manifest = Manifest(mode, created.isoformat(timespec="seconds"), **told)
    tables = manifest.tables
    _write_extra(path, {FILE_NAME: manifest.to_json()})
    logging.info(
        "exported %d rows of %d tables to %s",
        *(sum(table.rows for table in tables), len(tables), path),
    )
    return Export(path, tables)


class _ServedModel(tf.Module):
    """A model whose lookups are answered by tables of its own.

    Attributes:
        serve: Its call, as a function of named tensors.
    """

    def __init__(
        self,
        model: Any,
        inputs: Inputs,
        tables: Mapping[str, FrozenTable | RemoteTable],
    ) -> None:
        super().__init__()
        # TensorFlow saves what it finds here: of the model, its variables only.
        self.variables_of_model = list(model.variables)
        self.tables = dict(tables)
        self.serve = self._function(model, inputs)

    def _function(self, model: Any, inputs: Inputs) -> Any:
        def serve(**tensors: tf.Tensor) -> dict[str, tf.Tensor]:
            with redirected_to(self._lookup):
                outputs = model(inputs.structure(tensors), training=False)
            return named_outputs(model, outputs)

        return tf.function(serve).get_concrete_function(**inputs.tensors)

    def _lookup(self, route: Route, ids: tf.Tensor) -> tf.Tensor:
        if route.table not in self.tables:
            raise ValueError(
                f"layer '{route.layer}' is called by the model, but is none of its "
                "layers: make it an attribute of the model. Received: a lookup in "
                f"table '{route.table}'"
            )
        return self.tables[route.table].lookup(ids)


def _freeze(
    tables: dict[str, Table], row_dtype: str, progress: bool
) -> dict[str, FrozenTable]:
    tell = _Progress(tables.values()).add if progress else None
    return {name: FrozenTable(table, row_dtype, tell) for name, table in tables.items()}


def _exported(
    tables: Mapping[str, FrozenTable], row_dtype: str
) -> tuple[ExportedTable, ...]:
    return tuple(
        ExportedTable(name, table.dim, row_dtype, table.rows, table.bytes)
        for name, table in tables.items()
    )


class _Progress:
    """A bar of the rows of all tables."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._total = sum(map(len, tables))
        self._done = 0
        self._bar = ProgressBar("Exporting")

    def add(self, rows: int) -> None:
        self._done += rows
        self._bar.show(self._done, self._total)


def _check_is_free(path: str) -> None:
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise ValueError(
            "`path` must be a folder that is absent or empty, so that nobody serves "
            f"half of an export. Received: path={path!r}"
        )


def _write_extra(path: str, files: dict[str, str]) -> None:
    folder = os.path.join(path, _EXTRA)
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
