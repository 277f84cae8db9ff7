"""Export of models as SavedModels."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import tensorflow as tf
from absl import logging

from persia_tf import checks
from persia_tf.cluster import flush
from persia_tf.serving import manifest as manifest_lib
from persia_tf.serving.exported_model import SERVING, ExportedModel
from persia_tf.serving.exported_save import keep_save
from persia_tf.serving.frozen_rows import ROW_DTYPES
from persia_tf.serving.kept_rows import KeepRows, choices
from persia_tf.serving.manifest import ExportedTable, Manifest
from persia_tf.serving.model_tables import tables_of
from persia_tf.serving.new_folder import new_folder
from persia_tf.serving.remote import Remote
from persia_tf.serving.remote_tables import RemoteTables
from persia_tf.serving.signature import Inputs
from persia_tf.serving.standalone_tables import StandaloneTables
from persia_tf.serving.warmup import warmup_records, warmup_requests, write_warmup

# The folder of a SavedModel for files that TensorFlow does not read.
_EXTRA = "assets.extra"

_MODES = ("standalone", "remote")
_MOST_STEPS = 2**63 - 1


class Export(NamedTuple):
    """Describes what `export` wrote.

    Attributes:
        path: The SavedModel's folder.
        tables: The tables that the model looks up in.
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
    `mode="remote"`, it holds no rows: an op of this library asks the shards for their
    current rows at each call; see `ptf.serving.Remote`. In both modes, an id without a
    row gives what it gives in `predict`, and string, ragged and sparse ids, weights,
    combiners and compressions work as in the model.

    The export holds what was trained before this call. Training may continue
    meanwhile; rows that are created or changed during the call may be in the export or
    not. The call needs memory for the exported rows and a few batches of them. It does
    not change the model. The folder appears only once it is complete.

    Example:

    ```python
    ptf.serving.export(model, "serving/ranking/1", row_dtype="float16")
    # Where there is only TensorFlow:
    serve = tf.saved_model.load("serving/ranking/1").signatures["serving_default"]
    serve(user=tf.constant([3, 7], tf.int64))
    ```

    Args:
        model: A built Keras model.
        path: The folder to write, which must be absent or empty. For TensorFlow
            Serving, it must be a numbered folder within the model's folder.
        mode: `"standalone"`: the SavedModel holds all rows; `"remote"`: it holds none
            and asks the shards. Defaults to `"standalone"`.
        row_dtype: How weights are stored: `"float32"`, `"float16"`, or `"int8"` with a
            scale per row, where a weight is off by at most 1/254 of the row's largest
            weight. The graph converts them to float32. Defaults to `"float32"`.
        inputs: What the model is called with: a structure of `tf.TensorSpec`,
            `tf.RaggedTensorSpec` or `tf.SparseTensorSpec`. Defaults to None: the
            model's own inputs, or, for a subclassed model, what it was first called
            with, for any batch size. The signature names each input by its key if the
            model is called with a dict, else by the input's own name.
        rows: Which rows to export, by how they were used: a `KeepRows` for all tables,
            or a dict from names of tables to `KeepRows`. Defaults to None: all rows.
        remote: How shards are asked with `mode="remote"`. Defaults to None:
            `Remote()`.
        tf_example: Whether to add a signature `tf_example`, which takes serialized
            tf.Examples as `examples`: each input is the feature of its name. Defaults
            to False.
        warmup: Batches, as the model is called with them: at most 1000. TensorFlow
            Serving runs them when it loads the version, before it serves it. Needs
            `persia_tf[serving]`. Defaults to none.
        step: How many steps the model was trained for, to be stored in the manifest.
            Defaults to None: the step count of the model's optimizer, if it has one.
        progress: Whether to show a progress bar. Defaults to False.

    Returns:
        An `Export`: the folder, and the tables that the model looks up in.

    Raises:
        ValueError: if `mode` or `row_dtype` is unknown; `path` has files in it; the
            model is not built, or its inputs are not known; `rows` names an unknown
            table, or a time that a table does not count; a tf.Example cannot hold an
            input; the model cannot be called with a batch of `warmup`; `remote` is
            given without `mode="remote"`; or `mode="remote"` is given with `row_dtype`
            or `rows`, or for tables that are embedded in this process.
        FailedPreconditionError: if `rows` is given for a table that does not record
            how its rows are used.
        ImportError: if `warmup` needs a package that is not installed.
        PersiaError: if a shard does not answer in time (it is named), or an update
            could not be delivered.
    """
    checks.one_of("mode", mode, _MODES)
    checks.one_of("row_dtype", row_dtype, ROW_DTYPES)
    if mode == "remote":
        _check_has_no_rows(row_dtype, rows)
    elif remote is not None:
        raise ValueError(
            f'`remote` goes with mode="remote". Received: mode={mode!r}, '
            f"remote={remote!r}"
        )
    if step is not None:
        checks.integer("step", step, 0, _MOST_STEPS)
    path = os.fspath(path)
    created = datetime.datetime.now(datetime.timezone.utc)
    known = Inputs(model, inputs)
    requests = warmup_requests(warmup, known)
    records = warmup_records(SERVING, requests) if requests else []
    with new_folder(path) as folder:
        flush()
        of_model = tables_of(model)
        if mode == "remote":
            tables = RemoteTables(of_model, remote or Remote())
        else:
            tables = StandaloneTables(choices(of_model, rows), row_dtype, progress)
        exported = ExportedModel(model, known, tables.by_name, tf_example)
        if mode == "standalone":
            keep_save(exported, tables.base_save)
        for tensors in requests:  # Fail here rather than when a server loads it.
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
        '`row_dtype` and `rows` are of rows in the export, and with mode="remote" it '
        f"has none. Received: row_dtype={row_dtype!r}, rows={rows!r}"
    )


def _steps_of(model: Any) -> int | None:
    iterations = getattr(getattr(model, "optimizer", None), "iterations", None)
    return None if iterations is None else int(iterations)


def _write_extra(path: str, manifest: Manifest, records: list[bytes]) -> None:
    folder = os.path.join(path, _EXTRA)
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, manifest_lib.FILE_NAME)
    with open(name, "w", encoding="utf-8") as file:
        file.write(manifest.to_json())
    if records:
        write_warmup(folder, records)
