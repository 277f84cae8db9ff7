"""Arguments that all readers have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

from persia_tf.base import checks
from persia_tf.layers.workers import Workers

MOST = 1 << 40


def shard_of(
    shard: tuple[int, int] | tf.distribute.Strategy | None,
) -> tuple[int, int]:
    """Returns the number of this program among several, and how many there are.

    Raises:
        ValueError: if `shard` is no such pair.
    """
    if shard is None:
        return 0, 1
    if isinstance(shard, tf.distribute.Strategy):
        workers = Workers(shard)
        return workers.index, workers.count
    if len(shard) != 2:
        raise ValueError(
            "`shard` must be a pair: the number of this program, and how many there "
            f"are; or the strategy of several workers. Received: shard={shard!r}"
        )
    count = checks.integer("shard[1]", shard[1], 1, MOST)
    return checks.integer("shard[0]", shard[0], 0, count - 1), count


def check_label(label: str | None, names: Iterable[str]) -> None:
    """Raises ValueError if there is no column for the labels."""
    names = list(names)
    if label is not None and label not in names:
        raise ValueError(
            f"`label` must be the name of a column: one of {names}. "
            f"Received: label={label!r}"
        )


def with_labels(columns: Mapping[str, Any], label: str | None) -> Any:
    """Returns the element of a dataset: its columns, or a pair of these and labels."""
    if label is None:
        return columns
    columns = dict(columns)
    labels = columns.pop(label)
    return columns, labels
