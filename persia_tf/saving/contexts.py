"""What the program says about saving, around calls of Keras that take no options."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from persia_tf.cluster import Cluster

_rows_stay: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "persia_tf_rows_stay", default=False
)
_cluster: contextvars.ContextVar[Cluster | None] = contextvars.ContextVar(
    "persia_tf_use_cluster", default=None
)


@contextlib.contextmanager
def rows_stay() -> Iterator[None]:
    """Within it, models are saved and loaded without their rows.

    What is saved holds the dense weights only, and what is loaded leaves the rows of
    the cluster as they are. So a program that only evaluates can load a model whose
    rows others train meanwhile, and a model whose rows `ptf.checkpoint.save` saves
    need not hold them too.

    Example:

    ```python
    with ptf.rows_stay():
        model = keras.models.load_model("m.keras")
    ```
    """
    with _set(_rows_stay, True):
        yield


@contextlib.contextmanager
def use_cluster(cluster: Cluster) -> Iterator[None]:
    """Within it, layers that are made from a config are on another cluster.

    A saved model names the cluster that its layers were given, if they were given one.
    The cluster here takes that one's place, with its shards, their number and all of
    its options.

    Example:

    ```python
    with ptf.use_cluster(ptf.Cluster(["10.0.0.9:7000"])):
        model = keras.models.load_model("m.keras")
    ```

    Args:
        cluster: A `ptf.Cluster`.

    Raises:
        TypeError: if `cluster` is none.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(
            f"`cluster` must be a ptf.Cluster. Received: cluster={cluster!r}"
        )
    with _set(_cluster, cluster):
        yield


def do_rows_stay() -> bool:
    """Whether `rows_stay` was entered here."""
    return _rows_stay.get()


def cluster_in_use() -> Cluster | None:
    """The cluster of `use_cluster`, if that was entered here."""
    return _cluster.get()


@contextlib.contextmanager
def _set(variable: contextvars.ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
