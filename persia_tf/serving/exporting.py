"""Exports models as SavedModels."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import tensorflow as tf
from absl import logging

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.cluster import flush
from persia_tf.layers import PersiaEmbedding
from persia_tf.parallel import whole
from persia_tf.serving import export_manifest
from persia_tf.serving.export_manifest import ExportedTable, Manifest
from persia_tf.serving.export_signature import Inputs
from persia_tf.serving.exported_model import SERVING, ExportedModel
from persia_tf.serving.exported_save import keep_save
from persia_tf.serving.kept_rows import KeepRows, choices
from persia_tf.serving.new_folder import new_folder
from persia_tf.serving.remote_options import Remote
from persia_tf.serving.remote_tables import RemoteTables
from persia_tf.serving.served_rows import ROW_DTYPES
from persia_tf.serving.standalone_tables import StandaloneTables
from persia_tf.serving.warmup_requests import (
    warmup_records,
    warmup_requests,
    write_warmup,
)
from persia_tf.table import Table

# The folder of a SavedModel for files that TensorFlow does not read.
_EXTRA = "assets.extra"

_MODES = ("standalone", "remote")
_MOST_STEPS = 2**63 - 1


class Export(NamedTuple):
    """Describes what `export` wrote.

    Attributes:
        path: The SavedModel's folder.
        tables: The tables in which the model looks rows up.
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
    rows: KeepRows | Mapping[str, KeepRows] | None = None,
    remote: Remote | None = None,
    tf_example: bool = False,
    warmup: Iterable[Any] = (),
    step: int | None = None,
    progress: bool = False,
) -> Export:
    """Writes a model as a SavedModel that holds its rows, or looks them up remotely.

    With `mode="standalone"`, the SavedModel holds the ids and rows of each table,
    without optimizer state, and its graph has only TensorFlow's own ops: TensorFlow
    Serving loads it unchanged, and so does a program without `persia_tf`. With
    `mode="remote"`, the SavedModel holds no rows: an op of this library requests the
    current rows from the shards at each call; see `ptf.serving.Remote`. In both modes,
    an id without a row gets the same vector as in `predict`, and string, ragged and
    sparse ids, weights, combiners and compressions work as in the model.

    The export includes everything that was trained before this call. Training may
    continue meanwhile; the export may or may not include rows that are created, or
    changes that are made, during the call. The call needs memory for the exported rows
    and a few batches of rows. The call does not change the model. The folder appears
    only once the export is complete.

    Example:

    ```python
    ptf.serving.export(model, "serving/ranking/1", row_dtype="float16")
    # In a program that has only TensorFlow:
    serve = tf.saved_model.load("serving/ranking/1").signatures["serving_default"]
    serve(user=tf.constant([3, 7], tf.int64))
    ```

    Args:
        model: A built Keras model.
        path: The folder to write, which must be absent or empty. For TensorFlow
            Serving, it must be a numbered folder within the model's folder.
        mode: `"standalone"`: the SavedModel holds all rows; `"remote"`: the SavedModel
            holds no rows and looks them up on the shards. Defaults to `"standalone"`.
        row_dtype: The dtype in which weights are stored: `"float32"`, `"float16"`, or
            `"int8"` with a scale per row, where a weight is off by at most 1/254 of the
            row's largest weight. The graph converts weights to float32. Defaults to
            `"float32"`.
        inputs: What the model is called with: a structure of `tf.TensorSpec`,
            `tf.RaggedTensorSpec` or `tf.SparseTensorSpec`. Defaults to None: the
            model's own inputs, or, for a subclassed model, the inputs of its first
            call, with any batch size. The signature names each input by its key if the
            model is called with a dict, else by the input's own name.
        rows: Which rows to export, by how they were used: a `KeepRows` for all tables,
            or a dict from names of tables to `KeepRows`. Defaults to None: all rows.
        remote: The options of lookups with `mode="remote"`. Defaults to None:
            `Remote()`.
        tf_example: Whether to add a signature `tf_example`, which takes serialized
            tf.Examples as `examples` and reads each input from the feature with the
            input's name. Defaults to False.
        warmup: Batches of the model's inputs, at most 1000. A server such as TensorFlow
            Serving runs the model on them when it loads the export, before it answers
            requests. Needs `persia_tf[serving]`. Defaults to no batches.
        step: How many steps the model was trained for, to be stored in the manifest.
            Defaults to None: the step count of the model's optimizer, if it has one.
        progress: Whether to show a progress bar. Defaults to False.

    Returns:
        An `Export`: the folder, and the tables in which the model looks rows up.

    Raises:
        TypeError: if `model` is not a Keras model.
        ValueError: if `mode` or `row_dtype` is unknown; `path` has files in it; the
            call is within the scope of a strategy; the model is not built, or its
            inputs are not known; `rows` names an unknown table, or uses a unit of time
            that a table does not record; a tf.Example cannot hold an input; the model
            cannot be called with a batch of `warmup`; `remote` is given without
            `mode="remote"`; or `mode="remote"` is given with `row_dtype` or `rows`, or
            for tables that are embedded in this process.
        FailedPreconditionError: if `rows` is given for a table that does not record
            how its rows are used.
        ImportError: if `warmup` needs a package that is not installed.
        PersiaError: if a shard does not answer in time (the error names the shard), or
            an update could not be delivered.
    """
    checks.instance("model", model, keras.Model, "a Keras model")
    checks.one_of("mode", mode, _MODES)
    checks.one_of("row_dtype", row_dtype, ROW_DTYPES)
    if mode == "remote":
        _check_has_no_rows(row_dtype, rows)
    elif remote is not None:
        raise ValueError(
            f'`remote` needs mode="remote". Received: mode={mode!r}, remote={remote!r}'
        )
    if step is not None:
        checks.integer("step", step, 0, _MOST_STEPS)
    if tf.distribute.has_strategy():
        raise ValueError(
            "an export must be written outside of the scope of a strategy, whose "
            "variables it cannot hold: call `export` after the `with strategy.scope()` "
            f"block. Received: a call within {tf.distribute.get_strategy()}"
        )
    path = os.fspath(path)
    created = datetime.datetime.now(datetime.timezone.utc)
    known = Inputs(model, inputs)
    requests = warmup_requests(warmup, known)
    records = warmup_records(SERVING, requests) if requests else []
    with whole(model), new_folder(path) as folder:
        flush()
        of_model = _tables_of(model)
        if mode == "remote":
            tables = RemoteTables(of_model, remote or Remote())
        else:
            tables = StandaloneTables(choices(of_model, rows), row_dtype, progress)
        exported = ExportedModel(model, known, tables.by_name, tf_example)
        if mode == "standalone":
            keep_save(exported, tables.base_save)
        # An invalid warm-up request must fail here, not when a server loads the export.
        for tensors in requests:
            exported.served[SERVING](**tensors)
        tf.saved_model.save(exported, folder, dict(exported.served))
        manifest = Manifest(
            mode,
            created.isoformat(timespec="seconds"),
            step=_steps_of(model) if step is None else step,
            tensorflow=tf.__version__,
            signatures=tuple(exported.served),
            **tables.told(),
        )
        _write_extra(folder, manifest, records)
    logging.info(
        "exported %d rows of %d tables to %s",
        *(sum(table.rows for table in manifest.tables), len(manifest.tables), path),
    )
    return Export(path, manifest.tables)


def _check_has_no_rows(
    row_dtype: str, rows: KeepRows | Mapping[str, KeepRows] | None
) -> None:
    if row_dtype == "float32" and rows is None:
        return
    raise ValueError(
        "`row_dtype` and `rows` choose which rows the export contains, but an export "
        'with mode="remote" contains none: leave both out. '
        f"Received: row_dtype={row_dtype!r}, rows={rows!r}"
    )


def _steps_of(model: Any) -> int | None:
    iterations = getattr(getattr(model, "optimizer", None), "iterations", None)
    return None if iterations is None else int(iterations.numpy())


def _write_extra(path: str, manifest: Manifest, records: list[bytes]) -> None:
    folder = os.path.join(path, _EXTRA)
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, export_manifest.FILE_NAME)
    with open(name, "w", encoding="utf-8") as file:
        file.write(manifest.to_json())
    if records:
        write_warmup(folder, records)


def _tables_of(model: Any) -> dict[str, Table]:
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
                "an export names tables by their full names, so tables of two clusters "
                "must have different names: give one of them another `table` or "
                f"`namespace`. Received: layer '{layer.name}' with table {name!r}"
            )
    return tables
