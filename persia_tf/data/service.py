"""Lets data workers make the batches of a dataset."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.base import addresses, checks
from persia_tf.data.reading.batches import SampleBatches
from persia_tf.data.reading.file_samples import FileSamples
from persia_tf.data.reading.source import Source
from persia_tf.data.remote import graphs
from persia_tf.data.remote.served_batches import ServedBatches


def service(
    dataset: tf.data.Dataset,
    map_func: Callable[..., Any] | None = None,
    *,
    address: str | None = None,
    patience: float = 10.0,
) -> tf.data.Dataset:
    """Lets data workers read a dataset's files and map its elements.

    Data workers are other processes, which `persia data` starts on any machines, and
    `persia launch --data-workers` on this one. They are those of tf.data service.

    The dataset of a reader such as `ptf.data.parquet` stays the same one: each batch
    comes once, in the order that it has without data workers. What a data worker that
    ends had not delivered, this program reads itself, and so all batches if there are
    no data workers. `ptf.callbacks.JobCheckpoint` gets the returned dataset.

    Any other dataset is divided among the data workers by tf.data service: its elements
    come in any order, and those that a data worker had in hand when it ended are lost.

    Example:

    ```python
    def prepare(clicks, clicked):
        clicks["query"] = tf.strings.to_hash_bucket_fast(clicks["query"], 2**40)
        return clicks, clicked

    train = ptf.data.parquet("clicks/*.parquet", 4096, label="clicked")
    train = ptf.data.service(train, prepare)
    model.fit(ptf.data.prefetch(train, model), epochs=2)
    ```

    Args:
        dataset: A dataset of a reader of `ptf.data`, whose files the data workers see
            under the same names; or any other dataset whose graph runs in another
            process.
        map_func: What the data workers do to each element, as for
            `tf.data.Dataset.map`: the same each time it gets the same element. It must
            not call Python functions, and has variables and lookup tables as they are
            when an epoch begins. Defaults to None: nothing.
        address: The dispatcher's address, `"host:port"`. Defaults to None: that in the
            environment variable `PERSIA_DATA`.
        patience: After how many seconds without a batch this program reads the files
            itself. Defaults to `10.0`.

    Returns:
        A `tf.data.Dataset`.

    Raises:
        TypeError: if `dataset` is not a `tf.data.Dataset`.
        ValueError: if `patience` is not positive, or `map_func` calls Python functions,
            or `dataset` is one of a reader that data workers cannot read.
        InvalidArgumentError: if there is no address, or it is not one.
        PersiaError: if the rows of text files must be counted, and they cannot be read.
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            "`dataset` must be a tf.data.Dataset. "
            f"Received: dataset of type {type(dataset).__name__}"
        )
    patience = checks.positive("patience", patience)
    target = f"grpc://{_address(address)}"

    def distribute(each: tf.data.Dataset) -> tf.data.Dataset:
        return each.apply(
            tf.data.experimental.service.distribute(
                "distributed_epoch", target, compression=None
            )
        )

    source = getattr(dataset, "persia_source", None)
    if source is None:
        mapped = dataset if map_func is None else dataset.map(map_func)
        if graphs.calls_python(mapped):
            raise ValueError(
                "`dataset` must be the dataset that a reader of `ptf.data` returned, "
                "before any `map` or other stage: give `map_func` what `map` should "
                "do; or a dataset that calls no Python functions, which data workers "
                f"do not have. Received: dataset={dataset!r}"
            )
        return distribute(mapped)
    local = source.batches
    if not isinstance(local, SampleBatches) or not isinstance(
        local.samples, FileSamples
    ):
        raise ValueError(
            "`dataset` must be that of a reader of files: data workers cannot read "
            "streams, and what `ptf.data.service` returned is theirs already. "
            f"Received: dataset={dataset!r}"
        )
    return Source(ServedBatches(local, map_func, distribute, patience)).dataset()


def _address(address: str | None) -> addresses.Address:
    found = address or os.environ.get(addresses.DATA_VARIABLE)
    if not found:
        raise errors.InvalidArgumentError(
            "there is no dispatcher of data workers: pass `address`, or set "
            f"{addresses.DATA_VARIABLE}, as `persia launch --data-workers` does"
        )
    return addresses.parse(found)
