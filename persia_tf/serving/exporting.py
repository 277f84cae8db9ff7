"""Export of models with their rows."""

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

# Of a SavedModel: what is of no concern to TensorFlow.
_EXTRA = "assets.extra"

_MODES = ("standalone", "remote")
_MOST_STEPS = 2**63 - 1


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
    rows: KeepRows | Mapping[str, KeepRows] | None = None,
    remote: Remote | None = None,
    tf_example: bool = False,
    warmup: Iterable[Any] = (),
    step: int | None = None,
    progress: bool = False,
) -> Export:
    """Writes a model as a SavedModel, with its rows or with the way to them.

    With its rows, its graph is of TensorFlow's own ops: TensorFlow Serving loads it as
    it is, and so does a program that has no `persia_tf`. Each table is in it with its
    ids and rows, without optimizer state. With `mode="remote"` it asks the shards, as
    they are at that moment, by an op of this library's: see `ptf.serving.Remote`. An id
    without a row gives what it does in `predict`. Strings, ragged and sparse ids,
    weights, combiners and compressions are as in the model.

    It holds what was trained when it is called; training may go on meanwhile, and rows
    that come or change meanwhile may be in it or not. Memory: that of the rows that are
    exported, and a few batches of them. The model stays as it is. The folder appears
    once it is whole.

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
            model's own inputs, or what a subclassed model was called with first, with
            any number of examples. The signature takes them by name: an input's key,
            where the model takes a dict, else its own name.
        rows: Which rows are taken, by their use: a `KeepRows` for all tables, or a dict
            of them by the names of some. Defaults to None: all rows.
        remote: With `mode="remote"`: how shards are asked. Defaults to None: as
            `Remote()` says.
        tf_example: Whether there is another signature, `tf_example`, which takes
            serialized tf.Examples as `examples`: each input is the feature of its
            name. Defaults to False.
        warmup: Batches, as the model is called with them, which TensorFlow Serving
            answers itself before the version serves: 1000 at most. Needs
            `persia_tf[serving]`. Defaults to none.
        step: How many steps the model was trained for, as the manifest tells it.
            Defaults to None: those of the model's optimizer, if it has one.
        progress: Whether to show a progress bar. Defaults to False.

    Returns:
        An `Export`: where it is, and the tables that it holds.

    Raises:
        ValueError: for a `mode` or `row_dtype` that is unknown, a `path` with files in
            it, a model that is not built, or one that does not tell its inputs; for
            `rows` of unknown tables or by a time that they do not count, inputs that a
            tf.Example cannot hold, or `warmup` that the model does not take; for
            `remote` without its mode, or that mode with `row_dtype`, `rows` or tables
            that are embedded in this process.
        FailedPreconditionError: if `rows` ask a table that notes no use.
        ImportError: if `warmup` needs what is not installed.
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
        for tensors in requests:  # What fails here would fail in a server.
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
