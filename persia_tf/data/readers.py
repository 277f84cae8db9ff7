"""Datasets of files of samples, in an order that a later program can go on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from persia_tf.base import checks
from persia_tf.data import arguments
from persia_tf.data.reading.batches import SampleBatches
from persia_tf.data.reading.csv_files import CsvFiles
from persia_tf.data.reading.file_samples import FileSamples, Order
from persia_tf.data.reading.found_files import find_files
from persia_tf.data.reading.parquet_files import ParquetFiles
from persia_tf.data.reading.parts import Format, parts_of
from persia_tf.data.reading.source import Source
from persia_tf.data.reading.tensors import Columns
from persia_tf.data.reading.tfrecord_files import TFRecordFiles

_COUNTS = tuple(f"I{number}" for number in range(1, 14))
_CATEGORIES = tuple(f"C{number}" for number in range(1, 27))


def parquet(
    files: Any,
    batch_size: int,
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    fill: Mapping[str, Any] | None = None,
    shuffle_buffer: int = 0,
    seed: int = 0,
    drop_remainder: bool = False,
    shard: tuple[int, int] | tf.distribute.Strategy | None = None,
) -> tf.data.Dataset:
    """Reads Parquet files, a row group at a time.

    Only the selected columns are read. A column of lists becomes a `tf.RaggedTensor`.

    The order of the samples depends on the files, `seed` and the number of the epoch
    only, so that `ptf.callbacks.JobCheckpoint` can go on at the next sample: each
    epoch has all row groups in another order, and as many of them are read at once, and
    their rows mixed, as hold `shuffle_buffer` rows. Each iteration that was read to its
    end is an epoch.

    Example:

    ```python
    train = ptf.data.parquet(
        "s3://bucket/clicks/*.parquet",
        batch_size=4096,
        columns=["user", "item", "price", "clicked"],
        label="clicked",
        shuffle_buffer=1_000_000,
    )
    model.fit(ptf.data.prefetch(train, model), epochs=2)
    ```

    Args:
        files: A path, a folder, a pattern, or a sequence of these; on this machine, or
            URLs that fsspec reads, such as `s3://`, `gs://` and `hdfs://`.
        batch_size: The rows of a batch.
        columns: The columns to read. Defaults to None: all.
        label: The column of the labels. Defaults to None: batches have no labels.
        fill: By column, the value of rows that have none. Such a row of another column
            is an error. Defaults to None: no column may lack values.
        shuffle_buffer: The least number of rows that are mixed with each other; up to
            four times as many are in memory. Defaults to `0`: the files' own order.
        seed: The seed of the order. Defaults to `0`.
        drop_remainder: Whether the last batch of an epoch is left out if it is smaller.
            Defaults to `False`.
        shard: Of several programs that train together, the number of this one, and how
            many there are: each reads other batches, as many as the others. With the
            `tf.distribute.Strategy` of several workers, their number and this one's.
            Defaults to None: this program reads all.

    Returns:
        A `tf.data.Dataset` of dicts of tensors by column, `(batch_size,)`; or of pairs
        of such a dict, without the label, and the labels.

    Raises:
        FailedPreconditionError: if pyarrow is not installed (the extra `data`).
        NotFoundError: if there is no file.
        DataLossError: if a file is damaged.
        InvalidArgumentError: if a file lacks a column, or has another type in it.
        ValueError: if an argument is out of its range.
    """
    found = find_files(files)
    columns = _with_label(columns, label)
    source = ParquetFiles(columns, fill or {}, found[0])
    order = _order(batch_size, shuffle_buffer, seed, drop_remainder, shard)
    return _dataset(source, found, order, label)


def csv(
    files: Any,
    batch_size: int,
    *,
    names: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    separator: str = ",",
    columns: Sequence[str] | None = None,
    label: str | None = None,
    fill: Mapping[str, Any] | None = None,
    shuffle_buffer: int = 0,
    seed: int = 0,
    drop_remainder: bool = False,
    shard: tuple[int, int] | tf.distribute.Strategy | None = None,
) -> tf.data.Dataset:
    """Reads text files with a row per line, 8 MiB at a time.

    Fields may be quoted with `"`, but must not contain line breaks. The order of the
    samples is that of `ptf.data.parquet`, with ranges of 8 MiB for row groups.

    Example:

    ```python
    train = ptf.data.csv(
        "ratings.dat", 512, names=["user", "item", "rating"], separator="|",
        types={"rating": "float32"}, label="rating", shuffle_buffer=100_000,
    )
    ```

    Args:
        files: As for `ptf.data.parquet`.
        batch_size: The rows of a batch.
        names: The names of all columns of a file. Defaults to None: the first line of
            each file has them.
        types: By column, a type of pyarrow, or its name, such as `"int64"`, `"float32"`
            or `"string"`. Defaults to None: types follow from the first 8 MiB.
        separator: The character between fields. Defaults to `","`.
        columns: The columns to read. Defaults to None: all.
        label: The column of the labels. Defaults to None: batches have no labels.
        fill: By column, the value of empty fields; of strings, these stay empty. Such a
            field of another column is an error. Defaults to None: no field is empty.
        shuffle_buffer: The least number of rows that are mixed. Defaults to `0`: the
            files' own order.
        seed: The seed of the order. Defaults to `0`.
        drop_remainder: Whether the last batch of an epoch is left out if it is smaller.
            Defaults to `False`.
        shard: As for `ptf.data.parquet`. Defaults to None: this program reads all.

    Returns:
        A `tf.data.Dataset`, as of `ptf.data.parquet`.

    Raises:
        FailedPreconditionError: if pyarrow is not installed (the extra `data`).
        NotFoundError: if there is no file.
        DataLossError: if a line has another number of fields, or a field has not the
            column's type.
        InvalidArgumentError: if a file lacks a column, or a field is empty.
        ValueError: if an argument is out of its range.
    """
    if not isinstance(separator, str) or len(separator) != 1:
        raise ValueError(
            f"`separator` must be one character. Received: separator={separator!r}"
        )
    found = find_files(files)
    columns = _with_label(columns, label)
    source = CsvFiles(names, columns, types or {}, fill or {}, separator, found[0])
    order = _order(batch_size, shuffle_buffer, seed, drop_remainder, shard)
    return _dataset(source, found, order, label)


def criteo(
    files: Any,
    batch_size: int,
    *,
    shuffle_buffer: int = 0,
    seed: int = 0,
    drop_remainder: bool = False,
    shard: tuple[int, int] | tf.distribute.Strategy | None = None,
) -> tf.data.Dataset:
    """Reads the text files of Criteo's data sets of ads.

    A line has, between tabs: 0 or 1, for an ad that was clicked; 13 counts; and 26
    strings. A count that is missing becomes 0.

    Example:

    ```python
    train = ptf.data.criteo("train.txt", batch_size=4096, shuffle_buffer=1_000_000)
    ```

    Args:
        files: As for `ptf.data.parquet`.
        batch_size: The rows of a batch.
        shuffle_buffer: The least number of rows that are mixed. Defaults to `0`: the
            files' own order.
        seed: The seed of the order. Defaults to `0`.
        drop_remainder: Whether the last batch of an epoch is left out if it is smaller.
            Defaults to `False`.
        shard: As for `ptf.data.parquet`. Defaults to None: this program reads all.

    Returns:
        A `tf.data.Dataset` of pairs: a dict with `"I1"` to `"I13"`, int64, and `"C1"`
        to `"C26"`, strings, which are empty where they are missing; and the labels,
        float32.

    Raises:
        FailedPreconditionError: if pyarrow is not installed (the extra `data`).
        NotFoundError: if there is no file.
        DataLossError: if a line is not of this format.
        ValueError: if an argument is out of its range.
    """
    return csv(
        files,
        batch_size,
        names=("label", *_COUNTS, *_CATEGORIES),
        types={
            "label": "float32",
            **dict.fromkeys(_COUNTS, "int64"),
            **dict.fromkeys(_CATEGORIES, "string"),
        },
        separator="\t",
        label="label",
        fill=dict.fromkeys(_COUNTS, 0),
        shuffle_buffer=shuffle_buffer,
        seed=seed,
        drop_remainder=drop_remainder,
        shard=shard,
    )


def tfrecord(
    files: Any,
    batch_size: int,
    features: Mapping[str, Any],
    *,
    label: str | None = None,
    compression: str | None = None,
    shuffle_buffer: int = 0,
    seed: int = 0,
    drop_remainder: bool = False,
    shard: tuple[int, int] | tf.distribute.Strategy | None = None,
) -> tf.data.Dataset:
    """Reads files of `tf.train.Example`s, 64 MiB at a time.

    The order of the samples is that of `ptf.data.parquet`, with ranges of 64 MiB for
    row groups. Where the ranges of a larger file begin is found by reading it once
    when the dataset is made. A compressed file is read whole, so make compressed files
    of some 100 MB.

    Example:

    ```python
    train = ptf.data.tfrecord(
        "clicks-*.tfrecord",
        batch_size=4096,
        features={
            "items": tf.io.RaggedFeature(tf.int64),
            "clicked": tf.io.FixedLenFeature([], tf.float32),
        },
        label="clicked",
    )
    ```

    Args:
        files: As for `ptf.data.parquet`, of what TensorFlow reads.
        batch_size: The examples of a batch.
        features: By name, what an example has, as for `tf.io.parse_example`.
        label: The feature that is the label. Defaults to None: batches have no labels.
        compression: `"GZIP"` or `"ZLIB"`. Defaults to None: files are not compressed.
        shuffle_buffer: The least number of examples that are mixed. Defaults to `0`:
            the files' own order.
        seed: The seed of the order. Defaults to `0`.
        drop_remainder: Whether the last batch of an epoch is left out if it is smaller.
            Defaults to `False`.
        shard: As for `ptf.data.parquet`. Defaults to None: this program reads all.

    Returns:
        A `tf.data.Dataset` of dicts of tensors by feature; or of pairs of such a dict,
        without the label, and the labels.

    Raises:
        FailedPreconditionError: if pyarrow is not installed (the extra `data`).
        NotFoundError: if there is no file.
        DataLossError: if a file is damaged.
        ValueError: if an argument is out of its range.
    """
    source = TFRecordFiles(compression)
    found = find_files(files)
    order = _order(batch_size, shuffle_buffer, seed, drop_remainder, shard)
    return _dataset(source, found, order, label, features)


def _dataset(
    reader: Format,
    files: Sequence[str],
    order: Order,
    label: str | None,
    features: Mapping[str, Any] | None = None,
) -> tf.data.Dataset:
    names = reader.schema.names if features is None else list(features)
    arguments.check_label(label, names)
    samples = FileSamples(reader, parts_of(reader, files), order)

    def finished(columns: Mapping[str, Any]) -> Any:
        if features is not None:
            [records] = columns.values()
            columns = tf.io.parse_example(records, dict(features))
        return arguments.with_labels(columns, label)

    return Source(SampleBatches(samples, Columns(reader.schema), finished)).dataset()


def _order(
    batch_size: int,
    shuffle_buffer: int,
    seed: int,
    drop_remainder: bool,
    shard: tuple[int, int] | tf.distribute.Strategy | None,
) -> Order:
    own, count = arguments.shard_of(shard)
    return Order(
        batch_size=checks.integer("batch_size", batch_size, 1, arguments.MOST),
        drop_remainder=drop_remainder,
        shuffle_buffer=checks.integer(
            "shuffle_buffer", shuffle_buffer, 0, arguments.MOST
        ),
        seed=checks.integer("seed", seed, 0, arguments.MOST),
        shard=own,
        shards=count,
    )


def _with_label(
    columns: Sequence[str] | None, label: str | None
) -> Sequence[str] | None:
    if columns is None or label is None or label in columns:
        return columns
    return [*columns, label]
